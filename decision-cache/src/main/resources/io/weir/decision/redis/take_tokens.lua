-- SPDX-License-Identifier: Apache-2.0
-- Decides checks in their order. Each check takes its cost from all of its buckets or from none. A denial and
-- a peek write nothing, except that a denial writes the time of a bucket whose stored time counts as now.
-- Implements CheckDecider.decide. Preceded by bucket.lua and slots.lua.
-- KEYS     the marker, then the buckets' keys, check after check. After the key of a sliding window come the
--          keys of its earlier sub-windows, the oldest first, and the key of the next sub-window.
-- ARGV[1]  the run ID that the caller knows. The cache is warm if the marker contains exactly this value.
-- ARGV[n]  check n - 1, little-endian: purpose u8 (0 take, 1 peek, 2 give back the cost of a call
--          that another server has denied, 3 the same, and publish its key), buckets u8 (1 to 16), cost i64
--          (>= 1); then per bucket: mode u8 (0 shadow, 1 enforced, 2 enforced and not to be used while the cache is
--          cold; plus 4 times the number of earlier sub-windows, or plus 252 for a sliding log, or
--          plus 248 for slots), its limit 4 i64. A sliding window adds the length of a
--          sub-window and the step of the weight, micros i64. A sliding log adds the length of the
--          window, micros i64. Slots add the lease, micros i64, the time before which the holder may take
--          a new slot, micros since 1970 i64, and the holder, 32 bytes.
-- Reply    one string, little-endian: now i64 (microseconds since 1970), warm u8 (0, 1); then per
--          check: verdict u8 (0 denied, 1 allowed, 2 cost above capacity, 3 corrupt, 4 cold),
--          deciding bucket u8 (255 none); then per bucket: flags u8 (1 sufficient, 2 charged; for slots:
--          a new slot was taken, or a held slot was released),
--          remaining tokens, reset micros, retry-after micros (-1 never), epoch, version, charged
--          tokens i64 (all 0 if corrupt or cold).
-- Messages with purpose 3, the key of each bucket to which the cost is given back, on the channel RAISED.
-- Complexity: O(keys), for a sliding log O(log calls). If a stored value is not a bucket's state, its check is
-- corrupt, and the value is not changed. A key that is charged twice is written once. One command reads
-- many keys, if the user may use the command. A call has fewer than 2,000 keys, which fit on Lua's stack.
local CHECK, BUCKET, SLIDING, LOG, LEASE = '<BBi8', '<Bi8i8i8i8', '<i8i8', 63, '<i8i8c32'
local REPLY, FIRST_REPLY = '<Bi8i8i8i8i8i8', '<BBBi8i8i8i8i8i8'
local RAISED = 'w1:@raised'
local NO_REPLY = pack(REPLY, 0, 0, 0, 0, 0, 0, 0)
local values = {}
if #KEYS > 5 then
  -- A value that Weir did not write may be large. Therefore keys of slots and logs are not read here, and
  -- a key that many checks share is read once.
  local keys, others, first, find = {}, {}, {}, string.find
  for n = 1, #KEYS do
    local key = KEYS[n]
    local is_read = not first[key]
      and not (find(key, '@', 1, true) and (find(key, '@slots$') or find(key, '@log$')))
    first[key] = first[key] or n
    if is_read then keys[n] = key else keys[n], others[#others + 1] = KEYS[1], n end
  end
  values = redis.pcall('MGET', unpack_table(keys))
  for _, n in ipairs(others) do
    local place = first[KEYS[n]]
    values[n] = place ~= n and values[place]
  end
end
local warm = ARGV[1] ~= '' and (values[1] or redis.pcall('GET', KEYS[1])) == ARGV[1]
local known_checks = {}

-- Parses an argument. Equal arguments of several checks are parsed once.
local function read_check(arg)
  local purpose, count, cost, at = unpack(CHECK, arg)
  local check = { takes = purpose == 0, gives = purpose >= 2, publishes = purpose == 3, count = count, cost = cost,
    modes = {}, limits = {} }
  for i = 1, count do
    local mode, tick, per_tick, per_token, capacity, length, step
    mode, tick, per_tick, per_token, capacity, at = unpack(BUCKET, arg, at)
    check.modes[i], check.limits[i] = mode % 4, limit_of(tick, per_tick, per_token, capacity)
    local earlier = floor(mode / 4)
    if earlier == LOG then
      length, at = unpack('<i8', arg, at)
      check.limits[i].log = length
    elseif earlier == SLOTS then
      local lease, until_time, holder
      lease, until_time, holder, at = unpack(LEASE, arg, at)
      check.limits[i].slots = { lease = lease, until_time = until_time, holder = holder }
    elseif earlier > 0 then
      length, step, at = unpack(SLIDING, arg, at)
      check.limits[i].sliding = { count = earlier, length = length, step = step, steps = length / step,
        ends = tick - earlier * length }
    end
  end
  known_checks[arg] = check
  return check
end

-- Returns the counts of all sub-windows of a sliding window, the oldest first, and the weighted sum of the
-- counts of the other sub-windows. The caller gives the view of the current sub-window. Returns nil if a
-- value is not a bucket's state. Implements SlidingBucket. The key of the next sub-window is optional,
-- because it rarely exists, and the other keys show whether the slot is on another server.
local function count_sub_windows(at, limit, own)
  local sliding, counts, sum = limit.sliding, {}, 0
  local current = sliding.count + 1
  for i = 1, current + 1 do
    if i == current then
      counts[i] = limit.capacity - own.units
    else
      local key = at + (i < current and i or i - 1)
      local view = load(KEYS[key], values[key], limit, i > current)
      if not view then return nil end
      counts[i] = max(limit.capacity - view.units, 0)
      if i == 1 then
        local left = min(sliding.steps, ceil(max(sliding.ends - now, 0) / sliding.step))
        sum = ceil(min(counts[1], floor((EXACT - 1) / sliding.steps)) * left / sliding.steps)
      else
        sum = min(sum + counts[i], EXACT - 1)
      end
    end
  end
  return counts, sum
end

-- Returns the content of a bucket minus the counts of the other sub-windows.
local function level(view, others)
  if others == 0 then return view.units end
  local capacity = view.limit.capacity
  return capacity - min(capacity - view.units + others, EXACT - 1)
end

local function until_time(micros) return min(max(micros - now, 1), MAX_WAIT) end

-- Returns the time until a window that does not hold the cost holds it.
local function sliding_wait(sliding, counts, most)
  local newer, oldest = 0, #counts
  while oldest > 1 and newer + counts[oldest] <= most do
    newer, oldest = newer + counts[oldest], oldest - 1
  end
  local count, left = min(counts[oldest], floor((EXACT - 1) / sliding.steps)), sliding.steps
  if count > 0 then left = min(left, floor((most - newer) * sliding.steps / count)) end
  return until_time(sliding.ends + (oldest - 1) * sliding.length - left * sliding.step)
end

-- Returns the time until no taken tokens count.
local function time_to_empty(sliding, counts)
  for i = #counts, 1, -1 do
    if counts[i] > 0 then return until_time(sliding.ends + (i - 1) * sliding.length) end
  end
  return 0
end

local function charge(key, view, cost)
  local limit = view.limit
  if view.units + limit.per_tick > limit.capacity and view.last < now then view.last = now end
  view.units = view.units - cost * limit.per_token
  view.charged = view.charged + cost
  if view.epoch == 0 or view.charged >= EXACT then
    view.epoch, view.charged = view.epoch < now and now or view.epoch + 1, cost
    view.corrected, view.version = 0, 0
  end
  charged_views[key] = view
end

-- Gives the cost back to a bucket. A missing bucket is full, and is not created.
local function give_back(key, view, cost, publishes)
  if view.epoch == 0 then return end
  view.units = min(view.units + cost * view.limit.per_token, view.limit.capacity)
  view.charged = max(view.charged - cost, 0)
  charged_views[key] = view
  -- fails without the permission to publish; such a user cannot subscribe either
  if publishes then redis.pcall('PUBLISH', RAISED, key) end
end

-- A sliding log is a list of calls, the oldest first. Each call has the time of its admission (i56), its
-- cost (i16) and the sum of all costs up to it (i56). The difference of two sums is the total of a part of
-- the list. Sums begin at 0 again when the log is empty. The view has units, as for other buckets: the
-- remaining tokens. Implements LoggedBucket. Changes are buffered until the end, so that everything is read
-- before anything is written. Fields of a log: stored is the number of calls in the list, keep the number of
-- these calls that stay, size the number with new calls, and drop the number of expired calls.
local ENTRY, ENTRY_BYTES = '<i7i2i7', 16
local logs = {}

-- Returns a call by its index from 0, as { time, cost, sum }; false if the element is not a call.
local function entry(log, index)
  local known = log.entries[index]
  if known == nil then
    local value = call('LINDEX', log.key, index)
    known = false
    if value and #value == ENTRY_BYTES then
      local at, cost, sum = unpack(ENTRY, value)
      known = at > 0 and at < EXACT and cost > 0 and sum >= cost and sum < EXACT and { at, cost, sum }
    end
    log.entries[index] = known
  end
  return known
end

-- Returns the smallest index in [low, high) for which a test is true; high if the test is never true; nil if
-- an element is not a call.
local function search(log, low, high, test)
  while low < high do
    local middle = floor((low + high) / 2)
    local found = entry(log, middle)
    if not found then return nil end
    if test(found) then high = middle else low = middle + 1 end
  end
  return low
end

local function log_of(key)
  if not logs[key] then
    local size = redis.pcall('LLEN', key)
    if type(size) ~= 'number' then
      check_type(size)
      return nil
    end
    logs[key] = { key = key, entries = {}, stored = size, keep = size, size = size, drop = 0 }
  end
  return logs[key]
end

-- Returns a view of a log; nil if the value of the key is not a log.
local function load_log(key, limit)
  local log, window, used = log_of(key), limit.log, 0
  if not log then return nil end
  local last = log.drop < log.size and entry(log, log.size - 1)
  if last == false and log.drop < log.size then return nil end
  -- the clock has stepped back by more than a window
  if last and last[1] - now > window then log.drop = log.size end
  local first = search(log, log.drop, log.size, function(one) return one[1] + window > now end)
  if not first then return nil end
  if first < log.size then
    local oldest = entry(log, first)
    used = last[3] - oldest[3] + oldest[2]
  end
  return { limit = limit, log = log, first = first, units = limit.capacity - used, epoch = 0, charged = 0 }
end

local function log_reset(view)
  local log = view.log
  return view.first < log.size and entry(log, log.size - 1)[1] + view.limit.log - now or 0
end

-- Returns the time until the given number of tokens no longer counts. Returns nil if an element is not a call,
-- or the calls are not in the order of their times.
local function log_wait(view, missing)
  local log = view.log
  local oldest = entry(log, view.first)
  local sum = oldest[3] - oldest[2] + missing
  local last = search(log, view.first, log.size, function(one) return one[3] >= sum end)
  local found = last and entry(log, last)
  local left = found and found[1] + view.limit.log - now
  return left and left > 0 and left or nil
end

local function charge_log(view, cost)
  local log, at, sum = view.log, now, 0
  if view.first < log.size then
    local last = entry(log, log.size - 1)
    at, sum = max(now, last[1]), last[3]
  end
  log.drop = view.first
  log.entries[log.size], log.size = { at, cost, sum + cost }, log.size + 1
  view.units = view.units - cost
  log.changed, log.reset = true, log_reset(view)
end

-- Gives the cost back by removing it from the newest calls. Has no effect if an element is not a call.
local function give_back_log(key, view, cost, publishes)
  local log, left, size = view.log, cost, view.log.size
  local newest = size > view.first and entry(log, size - 1)
  while newest and newest[2] <= left do
    left, size = left - newest[2], size - 1
    newest = size > view.first and entry(log, size - 1)
  end
  if size > view.first and not newest then return end
  for index = size, log.size - 1 do log.entries[index] = nil end
  log.keep, log.size = min(log.keep, size), size
  if newest and left > 0 then
    log.keep = min(log.keep, size - 1)
    log.entries[size - 1], left = { newest[1], newest[2] - left, newest[3] - left }, 0
  end
  view.units = view.units + cost - left
  log.changed, log.reset = true, log_reset(view)
  if publishes then redis.pcall('PUBLISH', RAISED, key) end
end

local function store_log(key, log)
  if not log.changed then return end
  if log.keep <= log.drop then call('DEL', key)
  elseif log.drop > 0 or log.keep < log.stored then call('LTRIM', key, log.drop, log.keep - 1) end
  for index = max(log.keep, log.drop), log.size - 1 do
    local one = log.entries[index]
    call('RPUSH', key, pack(ENTRY, one[1], one[2], one[3]))
  end
  if log.drop < log.size then call('PEXPIRE', key, ceil(log.reset / 1000) + TTL_MARGIN_MILLIS) end
end

local replies, views, retries, places, key_index = { pack('<i8B', now, warm and 1 or 0) }, {}, {}, {}, 1
local counts, others, restarts = {}, {}, {}
for n = 2, #ARGV do
  local check, corrupt, cold, deciding, longest, never = known_checks[ARGV[n]], false, false, 255, 0, false
  check = check or read_check(ARGV[n])
  local count, cost = check.count, check.cost
  for i = 1, count do
    local at, mode, limit, retry = key_index + 1, check.modes[i], check.limits[i], 0
    local sliding, view = limit.sliding, nil
    if limit.log then view = load_log(KEYS[at], limit)
    elseif limit.slots then view = load_slots(KEYS[at], limit)
    else view = load(KEYS[at], values[at], limit) end
    places[i], others[i], key_index = at, 0, at + (sliding and sliding.count + 1 or 0)
    if mode == 2 and not warm then cold = true end
    if view and sliding then
      counts[i], others[i] = count_sub_windows(at, limit, view)
      if not counts[i] then view = nil end
    end
    if view then
      restarts[i] = not limit.log and not limit.slots and refill(view)
      local missing = check.gives and 0 or limit.slots and missing_slots(view)
        or cost * limit.per_token - level(view, others[i])
      if missing > 0 then
        local can_hold = limit.slots or cost <= limit.capacity / limit.per_token
        if not can_hold then retry = -1
        elseif limit.slots then retry = slots_wait(view.set)
        elseif sliding then retry = sliding_wait(sliding, counts[i], limit.capacity - cost)
        elseif limit.log then
          retry = log_wait(view, missing)
          if not retry then corrupt, retry = true, 0 end
        else retry = wait(view, missing) end
        if mode ~= 0 and not never and (not can_hold or retry > longest) then
          deciding, longest, never = i - 1, retry, not can_hold
        end
      end
    else
      corrupt = true
    end
    views[i], retries[i] = view, retry
  end
  if cold or corrupt then
    replies[#replies + 1] = string.char(cold and 4 or 3, 255) .. string.rep(NO_REPLY, count)
  else
    local verdict = never and 2 or deciding == 255 and 1 or 0
    local takes = verdict == 1 and check.takes
    for i = 1, count do
      local view, retry = views[i], retries[i]
      local flags = retry == 0 and 1 or 0
      local log = view.limit.log
      if restarts[i] and check.takes then restarted[KEYS[places[i]]] = true end
      if view.set and view.set.back > 0 and check.takes then view.set.restarts = true end
      if flags == 1 and takes then
        flags = 3
        if log then charge_log(view, cost)
        elseif view.set then flags = take_slot(view) and 3 or 1
        else charge(KEYS[places[i]], view, cost) end
      elseif check.gives then
        if view.set then flags = release_slot(view) and 3 or 1
        elseif log then give_back_log(KEYS[places[i]], view, cost, check.publishes)
        else give_back(KEYS[places[i]], view, cost, check.publishes) end
      end
      local limit = view.limit
      local sliding = limit.sliding
      if sliding then
        counts[i][sliding.count + 1] = limit.capacity - view.units
        view.reset = time_to_empty(sliding, counts[i])
      elseif log then
        view.reset = log_reset(view)
      elseif view.set then
        view.reset = slots_reset(view.set)
      else
        view.reset = time_to_full(view)
      end
      local remaining = max(floor(level(view, others[i]) / limit.per_token), 0)
      local version = view.corrected == view.epoch and view.version or 0
      if i == 1 then
        replies[#replies + 1] = pack(FIRST_REPLY, verdict, deciding, flags, remaining, view.reset, retry, view.epoch,
          version, view.charged)
      else
        replies[#replies + 1] = pack(REPLY, flags, remaining, view.reset, retry, view.epoch, version, view.charged)
      end
    end
  end
end
for key, view in pairs(charged_views) do
  store(key, view)
  restarted[key] = nil
end
for key in pairs(restarted) do restart(key) end
for key, log in pairs(logs) do store_log(key, log) end
for key, set in pairs(slot_sets) do store_slots(key, set) end
return table.concat(replies)
