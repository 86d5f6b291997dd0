-- SPDX-License-Identifier: Apache-2.0
-- Decides checks in order: each takes its cost from all of its buckets or from none. A denial and a
-- peek write nothing. Mirrors CheckDecider.decide. Preceded by bucket.lua.
-- KEYS     the marker of a warm cache, then the buckets' keys, check after check; each is followed by
--          those of its earlier sub-windows, the oldest first, if it is one of a sliding window.
-- ARGV[1]  the run ID known to the caller: the cache is warm if the marker holds exactly this.
-- ARGV[n]  check n - 1, little-endian: purpose u8 (0 take, 1 peek, 2 give back what was taken for a
--          call that another server has refused, 3 the same and tell it), buckets u8 (1 to 16), cost i64 (>= 1); then per
--          bucket: mode u8 (0 shadow, 1 enforced, 2 enforced and not to be used while the cache is
--          cold; plus 4 times the number of earlier sub-windows), its limit 4 i64; of a sliding
--          window the length of a sub-window and the step in which a weight falls, micros i64.
-- Reply    one string, little-endian: now i64 (microseconds since 1970), warm u8 (0, 1); then per
--          check: verdict u8 (0 denied, 1 allowed, 2 cost above capacity, 3 corrupt, 4 cold),
--          deciding bucket u8 (255 none); then per bucket: flags u8 (1 sufficient, 2 charged),
--          remaining tokens, reset micros, retry-after micros (-1 never), epoch, version, charged
--          tokens i64 (all 0 if corrupt or cold).
-- Messages one on the channel RAISED for each bucket to which something is given back, if it is to
--          be told: its key.
-- Complexity: O(keys). A stored value that is not a bucket's state makes its check corrupt and
-- is left unchanged. A key charged twice is written once. Many keys are read by one command, if
-- this user may use it: a call has fewer than 2,000, which fit on Lua's stack.
local CHECK, BUCKET, SLIDING = '<BBi8', '<Bi8i8i8i8', '<i8i8'
local REPLY, FIRST_REPLY = '<Bi8i8i8i8i8i8', '<BBBi8i8i8i8i8i8'
local RAISED = 'w1:@raised'
local NO_REPLY = pack(REPLY, 0, 0, 0, 0, 0, 0, 0)
local values = #KEYS > 5 and redis.pcall('MGET', unpack_table(KEYS)) or {}
local warm = ARGV[1] ~= '' and (values[1] or redis.pcall('GET', KEYS[1])) == ARGV[1]
local known_checks = {}

-- Returns what an argument says. Many checks of a call have the same.
local function read_check(arg)
  local purpose, count, cost, at = unpack(CHECK, arg)
  local check = { takes = purpose == 0, gives = purpose >= 2, tells = purpose == 3, count = count, cost = cost,
    modes = {}, limits = {} }
  for i = 1, count do
    local mode, tick, per_tick, per_token, capacity, length, step
    mode, tick, per_tick, per_token, capacity, at = unpack(BUCKET, arg, at)
    check.modes[i], check.limits[i] = mode % 4, limit_of(tick, per_tick, per_token, capacity)
    if mode >= 4 then
      length, step, at = unpack(SLIDING, arg, at)
      local earlier = floor(mode / 4)
      check.limits[i].sliding = { count = earlier, length = length, step = step, steps = length / step,
        ends = tick - earlier * length }
    end
  end
  known_checks[arg] = check
  return check
end

-- What the earlier sub-windows of a sliding window count, and when that is less; mirrors
-- SlidingBucket. Returns the counts, the oldest first, and their weighted sum; nil if a value is
-- not a bucket's state.
local function look_back(at, limit)
  local sliding, counts, sum = limit.sliding, {}, 0
  for i = 1, sliding.count do
    local view = load(KEYS[at + i], values[at + i], limit)
    if not view then return nil end
    counts[i] = max(limit.capacity - view.units, 0)
    if i == 1 then
      local left = min(sliding.steps, ceil(max(sliding.ends - now, 0) / sliding.step))
      sum = ceil(min(counts[1], floor((EXACT - 1) / sliding.steps)) * left / sliding.steps)
    else
      sum = min(sum + counts[i], EXACT - 1)
    end
  end
  return counts, sum
end

-- Returns what a bucket holds, less what earlier sub-windows count.
local function level(view, earlier)
  if earlier == 0 then return view.units end
  local capacity = view.limit.capacity
  return capacity - min(capacity - view.units + earlier, EXACT - 1)
end

local function until_time(micros) return min(max(micros - now, 1), MAX_WAIT) end

-- Returns the time until a window holds the cost, which it does not now. The last of the counts is
-- that of the current sub-window.
local function sliding_wait(sliding, counts, most)
  local newer, oldest = 0, #counts
  while oldest > 1 and newer + counts[oldest] <= most do
    newer, oldest = newer + counts[oldest], oldest - 1
  end
  local count, left = min(counts[oldest], floor((EXACT - 1) / sliding.steps)), sliding.steps
  if count > 0 then left = min(left, floor((most - newer) * sliding.steps / count)) end
  return until_time(sliding.ends + (oldest - 1) * sliding.length - left * sliding.step)
end

-- Returns the time until nothing counts any more.
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

-- A bucket that is gone is full again, and is not made anew.
local function give_back(key, view, cost, tells)
  if view.epoch == 0 then return end
  view.units = min(view.units + cost * view.limit.per_token, view.limit.capacity)
  view.charged = max(view.charged - cost, 0)
  charged_views[key] = view
  -- whoever may not publish may not subscribe either
  if tells then redis.pcall('PUBLISH', RAISED, key) end
end

local replies, views, retries, places, key_index = { pack('<i8B', now, warm and 1 or 0) }, {}, {}, {}, 1
local counts, earlier = {}, {}
for n = 2, #ARGV do
  local check, corrupt, cold, deciding, longest, never = known_checks[ARGV[n]], false, false, 255, 0, false
  check = check or read_check(ARGV[n])
  local count, cost = check.count, check.cost
  for i = 1, count do
    local at, mode, limit, retry = key_index + 1, check.modes[i], check.limits[i], 0
    local view, sliding = load(KEYS[at], values[at], limit), limit.sliding
    places[i], earlier[i], key_index = at, 0, at + (sliding and sliding.count or 0)
    if mode == 2 and not warm then cold = true end
    if view and sliding then
      counts[i], earlier[i] = look_back(at, limit)
      if counts[i] then counts[i][sliding.count + 1] = limit.capacity - view.units else view = nil end
    end
    if view then
      refill(view)
      local missing = check.gives and 0 or cost * limit.per_token - level(view, earlier[i])
      if missing > 0 then
        local can_hold = cost <= limit.capacity / limit.per_token
        if not can_hold then retry = -1
        elseif sliding then retry = sliding_wait(sliding, counts[i], limit.capacity - cost)
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
      if flags == 1 and takes then
        charge(KEYS[places[i]], view, cost)
        flags = 3
      elseif check.gives then
        give_back(KEYS[places[i]], view, cost, check.tells)
      end
      local limit = view.limit
      local sliding = limit.sliding
      if sliding then
        counts[i][sliding.count + 1] = limit.capacity - view.units
        view.reset = time_to_empty(sliding, counts[i])
      else
        view.reset = time_to_full(view)
      end
      local remaining = max(floor(level(view, earlier[i]) / limit.per_token), 0)
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
for key, view in pairs(charged_views) do store(key, view) end
return table.concat(replies)
