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
--          its check corrupt and stays as it is. A key asked twice is read once and written once.
local EXACT, MAX_WAIT, TTL_MARGIN_MILLIS = 9007199254740992, 4503599627370496, 10000
local STATE, STATE_BYTES, BUCKET, REPLY = '<Bi8i8i8i8i8', 41, '<Bi8i8i8i8', '<Bi8i8i8i8i8'
local ceil, floor, max, min, pack, unpack = math.ceil, math.floor, math.max, math.min, struct.pack, struct.unpack
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local kept, written = {}, {}

local function counts(value, least) return value >= least and value < EXACT end

local function load(key)
  if kept[key] ~= nil then return kept[key] end
  local value, state = redis.pcall('GET', key), false
  if value == false then
    state = { units = EXACT, per_token = 0, last = now, epoch = 0, charged = 0 }
  elseif type(value) == 'string' and #value == STATE_BYTES then
    local version, units, per_token, last, epoch, charged = unpack(STATE, value)
    if version == 1 and counts(units, 0) and counts(per_token, 1) and counts(last, 0)
      and counts(epoch, 1) and counts(charged, 1) then
      state = { units = units, per_token = per_token, last = last, epoch = epoch, charged = charged }
    end
  end
  kept[key] = state
  return state
end

local function wait(view, missing)
  if missing <= 0 then return 0 end
  return min(MAX_WAIT, ceil(missing / view.per_tick) * view.tick - (now - view.last))
end

local function refill(view, state)
  local units, last, capacity = state.units, state.last, view.capacity
  if state.epoch ~= 0 and state.per_token ~= view.per_token then
    units = min(capacity, floor(units / state.per_token) * view.per_token)
  end
  units = min(capacity, units)
  if last - now > min(MAX_WAIT, ceil(capacity / view.per_tick) * view.tick) then
    last = now
  elseif last < now then
    local ticks = floor((now - last) / view.tick)
    units = ticks >= ceil((capacity - units) / view.per_tick) and capacity or units + ticks * view.per_tick
    last = last + ticks * view.tick
  end
  view.units, view.last, view.epoch, view.charged = units, last, state.epoch, state.charged
end

local function charge(view, cost)
  if view.units + view.per_tick > view.capacity then view.last = max(view.last, now) end
  view.units = view.units - cost * view.per_token
  view.charged = view.charged + cost
  if view.epoch == 0 or view.charged >= EXACT then
    view.epoch, view.charged = max(now, view.epoch + 1), cost
  end
  kept[view.key], written[view.key] = view, true
end

local replies, key_index = { pack('<i8', now) }, 0
for n = 1, #ARGV do
  local arg, views, corrupt, deciding, longest, never = ARGV[n], {}, false, 255, 0, false
  local peek, count, cost, at = unpack('<BBi8', arg)
  for i = 1, count do
    local view = { key = KEYS[key_index + i] }
    view.enforced, view.tick, view.per_tick, view.per_token, view.capacity, at = unpack(BUCKET, arg, at)
    local state = load(view.key)
    if state then
      refill(view, state)
      local can_hold = cost <= view.capacity / view.per_token
      view.retry = can_hold and wait(view, cost * view.per_token - view.units) or -1
      if view.enforced == 1 and not never and (not can_hold or view.retry > longest) then
        deciding, longest, never = i - 1, view.retry, not can_hold
      end
    end
    corrupt = corrupt or not state
    views[i] = view
  end
  key_index = key_index + count
  local verdict = corrupt and 3 or never and 2 or deciding == 255 and 1 or 0
  replies[#replies + 1] = pack('<BB', verdict, corrupt and 255 or deciding)
  for i = 1, count do
    local view = views[i]
    if corrupt then
      replies[#replies + 1] = pack(REPLY, 0, 0, 0, 0, 0, 0)
    else
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
for key in pairs(written) do
  local state = kept[key]
  redis.call('SET', key, pack(STATE, 1, state.units, state.per_token, state.last, state.epoch, state.charged),
    'PX', string.format('%.0f', ceil(state.reset / 1000) + TTL_MARGIN_MILLIS))
end
return table.concat(replies)
