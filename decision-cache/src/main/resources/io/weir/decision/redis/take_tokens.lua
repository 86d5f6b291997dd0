-- SPDX-License-Identifier: Apache-2.0
-- Decides checks in order: each takes its cost from all of its buckets or from none. A deny and a
-- peek write nothing. Mirrors CheckDecider.decide and TokenBucket; whole tokens, units, ticks and
-- microseconds, all integers below 2^53.
-- KEYS     the buckets' keys, check after check.
-- ARGV[n]  check n, little-endian: peek u8 (0, 1), buckets u8 (1 to 16), cost i64 (>= 1); then a
--          bucket: enforced u8 (0 shadow, 1), tickMicros, unitsPerTick, unitsPerToken, capacityUnits i64.
-- Reply    one string, little-endian: now i64 (microseconds since 1970); then a check: verdict u8
--          (0 denied, 1 allowed, 2 cost above capacity, 3 corrupt), deciding bucket u8 (255 none); then
--          a bucket: flags u8 (1 sufficient, 2 charged), remaining tokens, reset micros,
--          retry-after micros (-1 never), epoch, charged tokens i64 (all 0 in a corrupt check).
-- State    41 bytes: version u8 = 1; units, unitsPerToken, lastEpochMicros, epoch, chargedTokens i64.
-- Clock    this server's TIME, read once. Complexity: O(buckets). A stored value that is not ours makes
--          its check corrupt and stays as it is. A key charged twice is written once.
local EXACT, MAX_WAIT, TTL_MARGIN_MILLIS = 9007199254740992, 4503599627370496, 10000
local STATE, STATE_BYTES, BUCKET, REPLY = '<Bi8i8i8i8i8', 41, '<Bi8i8i8i8', '<Bi8i8i8i8i8'
local ceil, floor, pack, unpack = math.ceil, math.floor, struct.pack, struct.unpack
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local charged_views = {}

-- A bucket under a limit as it was last written; nil when the value is not ours. All fields are made
-- at once: a table that grows field by field costs a microsecond.
local function load(key, enforced, tick, per_tick, per_token, capacity)
  local version, units, kept_per_token, last, epoch, charged = 1, capacity, per_token, now, 0, 0
  local view = charged_views[key]
  if view then
    units, kept_per_token, last, epoch, charged = view.units, view.per_token, view.last, view.epoch, view.charged
  else
    local value = redis.pcall('GET', key)
    if value then
      if type(value) ~= 'string' or #value ~= STATE_BYTES then return nil end
      version, units, kept_per_token, last, epoch, charged = unpack(STATE, value)
      if version ~= 1 or units < 0 or units >= EXACT or kept_per_token < 1 or kept_per_token >= EXACT or last < 0
        or last >= EXACT or epoch < 1 or epoch >= EXACT or charged < 1 or charged >= EXACT then return nil end
    end
  end
  if kept_per_token ~= per_token then units = floor(units / kept_per_token) * per_token end
  if units > capacity then units = capacity end
  return { key = key, enforced = enforced, tick = tick, per_tick = per_tick, per_token = per_token,
    capacity = capacity, units = units, last = last, epoch = epoch, charged = charged, retry = 0, reset = 0 }
end

local function wait(view, missing)
  local micros = ceil(missing / view.per_tick) * view.tick - (now - view.last)
  return missing <= 0 and 0 or micros < MAX_WAIT and micros or MAX_WAIT
end

local function refill(view)
  local ahead = view.last - now
  if ahead < 0 then
    local ticks = floor(-ahead / view.tick)
    local full = ticks >= ceil((view.capacity - view.units) / view.per_tick)
    view.units = full and view.capacity or view.units + ticks * view.per_tick
    view.last = view.last + ticks * view.tick
  elseif ahead > 0 and (ahead > MAX_WAIT or ahead > ceil(view.capacity / view.per_tick) * view.tick) then
    view.last = now
  end
end

local function charge(view, cost)
  if view.units + view.per_tick > view.capacity and view.last < now then view.last = now end
  view.units = view.units - cost * view.per_token
  view.charged = view.charged + cost
  if view.epoch == 0 or view.charged >= EXACT then
    view.epoch, view.charged = view.epoch < now and now or view.epoch + 1, cost
  end
  charged_views[view.key] = view
end

local replies, views, key_index = { pack('<i8', now) }, {}, 0
for n = 1, #ARGV do
  local arg, corrupt, deciding, longest, never = ARGV[n], false, 255, 0, false
  local peek, count, cost, at = unpack('<BBi8', arg)
  for i = 1, count do
    local enforced, tick, per_tick, per_token, capacity
    enforced, tick, per_tick, per_token, capacity, at = unpack(BUCKET, arg, at)
    local view = load(KEYS[key_index + i], enforced, tick, per_tick, per_token, capacity)
    if view then
      refill(view)
      local can_hold = cost <= capacity / per_token
      local retry = can_hold and wait(view, cost * per_token - view.units) or -1
      if retry ~= 0 and enforced == 1 and not never and (not can_hold or retry > longest) then
        deciding, longest, never = i - 1, retry, not can_hold
      end
      view.retry = retry
    else
      corrupt = true
    end
    views[i] = view
  end
  key_index = key_index + count
  local verdict = corrupt and 3 or never and 2 or deciding == 255 and 1 or 0
  replies[#replies + 1] = string.char(verdict, corrupt and 255 or deciding)
  for i = 1, count do
    if corrupt then
      replies[#replies + 1] = pack(REPLY, 0, 0, 0, 0, 0, 0)
    else
      local view = views[i]
      local flags = view.retry == 0 and 1 or 0
      if flags == 1 and verdict == 1 and peek == 0 then
        charge(view, cost)
        flags = 3
      end
      view.reset = wait(view, view.capacity - view.units)
      replies[#replies + 1] = pack(REPLY, flags, floor(view.units / view.per_token), view.reset, view.retry,
        view.epoch, view.charged)
    end
  end
end
for key, view in pairs(charged_views) do
  redis.call('SET', key, pack(STATE, 1, view.units, view.per_token, view.last, view.epoch, view.charged),
    'PX', string.format('%d', ceil(view.reset / 1000) + TTL_MARGIN_MILLIS))
end
return table.concat(replies)
