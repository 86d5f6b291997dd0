-- SPDX-License-Identifier: Apache-2.0
-- The common part of the scripts on buckets. It precedes each of them. It implements BucketArithmetic with
-- whole tokens, units, ticks and microseconds, which are integers below 2^53.
-- Limit    tickMicros, unitsPerTick, unitsPerToken, capacityUnits. A quota has unitsPerTick 0 (it
--          never refills), tickMicros its end in microseconds since 1970, unitsPerToken 1.
-- State    form 4, 28 bytes, little-endian, for an uncorrected bucket with small numbers, which is nearly
--          every bucket: form u8 = 4; units i48; unitsPerToken i40; lastEpochMicros minus epoch i48;
--          epoch i56; chargedTokens i24. Form 3, 57 bytes, for any other bucket: form u8 = 3; units,
--          unitsPerToken, lastEpochMicros, epoch, correctedEpoch, version, chargedTokens i64. A quota
--          has unitsPerToken 0, and its units are minus the tokens used, so that a changed capacity
--          applies to the whole period. Units are negative in debt. A release first reads a new form;
--          the next release writes it.
-- Clock    this server's TIME, read once. It may have stepped back. If a stored time is ahead by at most the
--          fill time of the bucket, the bucket does not refill until then. A time further ahead counts
--          as now.
-- Cost     the server decides on one thread, and these lines take half of a decision's time. Objects that
--          many checks share are therefore created once, and no table has more than eight named fields.
local EXACT, MAX_WAIT, TTL_MARGIN_MILLIS = 9007199254740992, 4503599627370496, 10000
local STATE, STATE_BYTES, FORM = '<Bi8i8i8i8i8i8i8', 57, 3
local STATE_4, STATE_4_BYTES, I24, I40, I48 = '<Bi6i5i6i7i3', 28, 8388608, 549755813888, 140737488355328
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
local unpack_table = unpack
local pack, unpack = struct.pack, struct.unpack
local call = redis.call
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local charged_views, restarted = {}, {}

-- Returns a limit. The content of a bucket is its stored units plus base, because a quota stores the negated
-- number of tokens used.
local function limit_of(tick, per_tick, per_token, capacity)
  local quota = per_tick == 0
  return { tick = tick, per_tick = per_tick, per_token = per_token, capacity = capacity,
    base = quota and capacity or 0, kind = quota and 0 or per_token }
end

-- Fails unless an error of a command means that the value of its key has another type.
local function check_type(failed)
  if not string.find(failed.err, 'WRONGTYPE', 1, true) then error(failed.err, 0) end
end

-- Returns a bucket under a limit as it was last written. Returns a full bucket without an epoch if no
-- value of its kind is stored; nil if the value is not a bucket's state. The value is the reply of
-- MGET for the key. If it is nil or false, which is also the reply for a key of another type, the key
-- is read here, up to one byte more than the longest state: a longer value is not from Weir and may be
-- large. GETRANGE returns an empty string for a missing key, so an empty string counts as no value.
-- While a cluster moves a slot, the previous server rejects access to keys that it does
-- not have, moved or not existing. The script then fails; an optional key counts as not existing.
local function load(key, value, limit, is_optional)
  local base, kind, capacity = limit.base, limit.kind, limit.capacity
  local form, units, kept_kind, last, epoch, corrected, version, charged = FORM, capacity - base, kind, now, 0, 0, 0, 0
  local view = charged_views[key]
  if view then
    units, kept_kind, last, epoch = view.units - view.limit.base, view.limit.kind, view.last, view.epoch
    corrected, version, charged = view.corrected, view.version, view.charged
  else
    value = value or redis.pcall('GETRANGE', key, '0', '57')
    if type(value) == 'table' then
      if not is_optional or not string.find(value.err, 'non local key', 1, true) then
        check_type(value)
        return nil
      end
      value = nil
    end
    if value and value ~= '' then
      if #value == STATE_4_BYTES and value:byte() == 4 then
        form, units, kept_kind, last, epoch, charged = unpack(STATE_4, value)
        form, last = FORM, last + epoch
      elseif #value == STATE_BYTES then
        form, units, kept_kind, last, epoch, corrected, version, charged = unpack(STATE, value)
      else
        return nil
      end
      if form ~= FORM or units <= -EXACT or units >= EXACT or kept_kind < 0 or kept_kind >= EXACT
        or last < 0 or last >= EXACT or epoch < 1 or epoch >= EXACT or corrected < 0 or corrected >= EXACT
        or version < 0 or version >= EXACT or charged < 0 or charged >= EXACT then return nil end
      if restarted[key] then last = now end
    end
  end
  if kept_kind ~= kind then
    if kept_kind == 0 or kind == 0 then
      units, last, epoch, corrected, version, charged = capacity - base, now, 0, 0, 0, 0
    else
      units = floor(units / kept_kind) * limit.per_token
    end
  end
  units = units + base
  if units > capacity then units = capacity
  elseif units <= capacity - EXACT then units = capacity - EXACT + 1 end
  return { limit = limit, units = units, last = last, epoch = epoch, corrected = corrected, version = version,
    charged = charged, reset = 0 }
end

local function wait(view, missing)
  if missing <= 0 then return 0 end
  local limit, micros = view.limit, nil
  if limit.per_tick == 0 then micros = max(limit.tick - now, 1)
  else micros = ceil(missing / limit.per_tick) * limit.tick - (now - view.last) end
  return micros < MAX_WAIT and micros or MAX_WAIT
end

local function time_to_full(view)
  local limit = view.limit
  return wait(view, limit.per_tick == 0 and 1 or limit.capacity - view.units)
end

-- Returns whether a time that is ahead of the clock by this much counts as now.
local function is_far(limit, ahead)
  return ahead > MAX_WAIT or ahead > ceil(limit.capacity / limit.per_tick) * limit.tick
end

-- Refills a bucket. Returns whether its stored time counts as now. The time must then be written, because the
-- refill is computed from it.
local function refill(view)
  local limit, ahead = view.limit, view.last - now
  if ahead == 0 or limit.per_tick == 0 then return end
  if ahead < 0 then
    local ticks = floor(-ahead / limit.tick)
    local full = ticks >= ceil((limit.capacity - view.units) / limit.per_tick)
    view.units = full and limit.capacity or view.units + ticks * limit.per_tick
    view.last = view.last + ticks * limit.tick
  elseif is_far(limit, ahead) then
    view.last = now
    return true
  end
end

-- Returns the bytes of a bucket, in the shortest form that fits.
local function bytes(view)
  local limit, last, epoch, charged = view.limit, view.last, view.epoch, view.charged
  local units, kind, since = view.units - limit.base, limit.kind, last - epoch
  if view.version == 0 and view.corrected == 0 and units >= -I48 and units < I48 and kind < I40
    and since >= 0 and since < I48 and charged < I24 then
    return pack(STATE_4, 4, units, kind, since, epoch, charged)
  end
  return pack(STATE, FORM, units, kind, last, epoch, view.corrected, view.version, charged)
end

-- Stores a bucket whose reset is known. The key expires when the bucket is full, plus a margin.
local function store(key, view)
  call('SET', key, bytes(view), 'PX', ceil(view.reset / 1000) + TTL_MARGIN_MILLIS)
end

-- Stores the current time as the time of a bucket. Does not change the other fields and the expiry.
local function restart(key)
  local value, left = call('GET', key), call('PTTL', key)
  local units, kind, last, epoch, corrected, version, charged, _ = 0, 0, 0, 0, 0, 0, 0, nil
  if #value == STATE_4_BYTES then
    _, units, kind, last, epoch, charged = unpack(STATE_4, value)
  else
    _, units, kind, last, epoch, corrected, version, charged = unpack(STATE, value)
  end
  value = pack(STATE, FORM, units, kind, now, epoch, corrected, version, charged)
  call('SET', key, value, 'PX', max(left, TTL_MARGIN_MILLIS))
end
