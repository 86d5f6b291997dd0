-- SPDX-License-Identifier: Apache-2.0
-- The slots that calls hold, each for a lease. The part precedes take_tokens.lua, and implements SlotBucket.
-- State    a sorted set with a member for each holder. Its score is the exclusive end of the lease, in
--          microseconds since 1970 by this server's clock. A lease that ends more than twice the
--          longest lease from now does not count, because Weir never writes such a lease. Leases that
--          do not count are removed when the set is written. The score of the member WRITTEN is the
--          time of the last write. If it is ahead of the clock, the clock has stepped back, and it counts
--          as now. Each lease then has the same remaining time as at the write.
-- Set      the set of a key in this call. back: time by which WRITTEN, and therefore every score, is ahead of
--          the clock. restarts: whether the set is written only because of a step of the clock. held:
--          number of running leases. low to high: ranks of the stored leases that may be unchanged.
--          changed: the new end of each holder's lease, false after its release. latest: the last end in
--          changed, nil if unknown.
-- Limit    has slots = { lease, until_time, holder } in addition to the fields of every limit.
local SLOTS, MAX_AHEAD, WRITTEN = 62, 172800000000, '@'
local slot_sets = {}

-- Returns all digits of a number. Concatenation would lose digits.
local function digits(number) return string.format('%.0f', number) end

local function slot_set(key)
  if not slot_sets[key] then
    local written = redis.pcall('ZSCORE', key, WRITTEN)
    if type(written) == 'table' then
      check_type(written)
      return nil
    end
    written = tonumber(written or 0)
    local back = written > now and written < EXACT and written - now or 0
    local held = call('ZCOUNT', key, '(' .. digits(now + back), digits(now + back + MAX_AHEAD))
    local over = held > 0 and call('ZCOUNT', key, '-inf', digits(now + back)) or 0
    slot_sets[key] = { key = key, back = back, held = held, low = over, high = over + held - 1, changed = {}, latest = 0 }
  end
  return slot_sets[key]
end

-- Returns when the lease of a holder ends; nil without a running lease.
local function lease_end(set, holder)
  local ends = set.changed[holder]
  if ends == nil and set.held > 0 then ends = tonumber(call('ZSCORE', set.key, holder) or 0) - set.back end
  return ends and ends > now and ends <= now + MAX_AHEAD and ends or nil
end

-- Returns the end of the first (from 'low' by 1) or the last (from 'high' by -1) unchanged lease; nil
-- if there is none.
local function found_end(set, from, step)
  while set.low <= set.high do
    local found = call('ZRANGE', set.key, set[from], set[from], 'WITHSCORES')
    if set.changed[found[1]] == nil then return tonumber(found[2]) - set.back end
    set[from] = set[from] + step
  end
end

local function slots_reset(set)
  if not set.latest then
    set.latest = 0
    for _, ends in pairs(set.changed) do set.latest = max(set.latest, ends or 0) end
  end
  return max(set.latest, found_end(set, 'high', -1) or 0, now) - now
end

-- Returns the time until the first lease ends.
local function slots_wait(set)
  local first = found_end(set, 'low', 1)
  for _, ends in pairs(set.changed) do
    if ends and (not first or ends < first) then first = ends end
  end
  return first and first - now or 1
end

-- Returns a view of slots, as load returns for other buckets; nil if the value of the key is not slots.
local function load_slots(key, limit)
  local set = slot_set(key)
  return set and { limit = limit, set = set, units = limit.capacity - set.held, epoch = 0, charged = 0 }
end

-- Returns the number of slots that the holder lacks: 0 if it has a slot or may take a slot.
local function missing_slots(view)
  local slots = view.limit.slots
  if lease_end(view.set, slots.holder) then return 0 end
  return now < slots.until_time and max(1 - view.units, 0) or 1
end

-- Takes a slot, or renews the holder's slot. Returns whether the slot is new.
local function take_slot(view)
  local set, slots = view.set, view.limit.slots
  local is_new = not lease_end(set, slots.holder)
  if is_new then
    set.held, view.units = set.held + 1, view.units - 1
  elseif set.changed[slots.holder] == set.latest then
    set.latest = nil
  end
  set.changed[slots.holder] = now + slots.lease
  set.latest = set.latest and max(set.latest, now + slots.lease)
  return is_new
end

-- Returns whether the holder had a slot.
local function release_slot(view)
  local set, holder = view.set, view.limit.slots.holder
  if not lease_end(set, holder) then return false end
  set.held, view.units = set.held - 1, view.units + 1
  set.changed[holder], set.latest = false, nil
  return true
end

local function store_slots(key, set)
  if next(set.changed) == nil and not set.restarts then return end
  local reset, back = slots_reset(set), set.back
  call('ZREMRANGEBYSCORE', key, '-inf', digits(now + back))
  call('ZREMRANGEBYSCORE', key, '(' .. digits(now + back + MAX_AHEAD), '+inf')
  for _, holder in ipairs(back > 0 and call('ZRANGE', key, 0, -1) or {}) do
    call('ZINCRBY', key, digits(-back), holder)
  end
  for holder, ends in pairs(set.changed) do
    if ends then call('ZADD', key, digits(ends), holder) else call('ZREM', key, holder) end
  end
  if set.held == 0 then return end
  call('ZADD', key, digits(now), WRITTEN)
  call('PEXPIRE', key, ceil(reset / 1000) + TTL_MARGIN_MILLIS)
end
