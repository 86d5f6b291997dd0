-- SPDX-License-Identifier: Apache-2.0
-- Applies corrections in their order, each at most once. Implements CorrectionRule.apply (decision
-- record 0005). Preceded by bucket.lua.
-- KEYS[n]  bucket of correction n.
-- ARGV[n]  correction n, little-endian, 11 i64: the bucket's limit (4), debt cap in tokens (>= 0),
--          epoch, version (>= 1), charged tokens (>= 0), truth (when the bucket is full,
--          microseconds since 1970; for a quota the tokens used), all at most 2^53 - 1; whether it
--          must not add tokens (0, 1); the time of the newest charge that it includes, which counts as
--          now if it is ahead of the clock by more than the fill time of the bucket.
-- Reply    one string, little-endian; per correction: kind u8 (0 applied, 1 created, 2 stale, 3
--          full, 4 corrupt, 5 not on this server of a cluster), clamped u8 (0, 1), change in tokens
--          i64, rounded toward zero.
-- Messages the key of each bucket that gains units, on the channel RAISED.
-- Complexity: O(corrections). The script does not change a value that is not a bucket's state.
local CORRECTION, REPLY = '<i8i8i8i8i8i8i8i8i8i8i8', '<BBi8'
local RAISED = 'w1:@raised'
local APPLIED, CREATED, STALE, FULL, CORRUPT, ELSEWHERE = 0, 1, 2, 3, 4, 5

local function product(one, other) return min(one * other, EXACT) end

local function correct(key, view, debt_cap, epoch, version, charged, truth, takes_only, known)
  refill(view)
  local limit = view.limit
  if limit.per_tick > 0 and is_far(limit, known - now) then truth = max(truth - (known - now), 0) end
  local quota, gone, younger = limit.per_tick == 0, view.epoch == 0, view.epoch > epoch
  if epoch < view.corrected or epoch == view.corrected and version <= view.version
    or younger and view.corrected == 0 and not quota then return STALE, 0, 0 end
  if gone and (quota and limit.tick or truth) <= now then return FULL, 0, 0 end
  local since = younger and view.charged or epoch == view.epoch and view.charged - charged or -1
  local behind = since < 0 -- the cache has reverted to a state before the correction
  if behind then since, view.epoch, view.charged = 0, max(now, epoch + 1), 0 end
  local lacking = quota and truth or product(ceil(max(truth - now, 0) / limit.tick), limit.per_tick)
  local refilled = quota and 0 or product(floor(max(now - truth, 0) / limit.tick), limit.per_tick)
  local high = max(lacking + product(since, limit.per_token), 0)
  -- the missing units are between these bounds: the later charges were made between the records
  -- and now
  local low, own = max(high - refilled, 0), limit.capacity - view.units
  -- the correction was computed for another limit, and the bucket may have gained the tokens of later charges
  if takes_only == 1 then low = max(lacking, 0) end
  -- the correction includes no charge of the cache, so stamps of the current epoch may still be on the
  -- way; the cache may not have reverted, although its counter suggests it
  if takes_only == 1 or (behind or younger) and charged == 0 and not quota then high = EXACT end
  local missing = max(low, min(own, high))
  -- if a lowered limit has caused a debt above the cap, the correction adds no tokens
  local most = min(max(limit.capacity + debt_cap * limit.per_token, own), EXACT - 1)
  local units = limit.capacity - min(missing, most)
  local change = (units - view.units) / limit.per_token
  if change ~= 0 or low == high then view.units, view.last = units, now end
  -- no correction could replace the maximum version in its epoch
  if version >= EXACT - 1 and not behind then
    view.epoch, view.charged = min(max(now, view.epoch + 1, epoch + 1), EXACT - 1), 0
  end
  view.corrected, view.version = epoch, version
  view.reset = time_to_full(view)
  store(key, view)
  -- fails without the permission to publish; such a user cannot subscribe either
  if change > 0 then redis.pcall('PUBLISH', RAISED, key) end
  return gone and CREATED or APPLIED, missing > most and 1 or 0, change < 0 and ceil(change) or floor(change)
end

local replies = {}
for n = 1, #KEYS do
  local tick, per_tick, per_token, capacity, debt_cap, epoch, version, charged, truth, takes_only, known =
    unpack(CORRECTION, ARGV[n])
  local here, view = pcall(load, KEYS[n], nil, limit_of(tick, per_tick, per_token, capacity))
  if not here and not string.find(view, 'cript attempted to ', 1, true) then error(view, 0) end
  local kind, clamped, change = here and CORRUPT or ELSEWHERE, 0, 0
  if here and view then
    kind, clamped, change = correct(KEYS[n], view, debt_cap, epoch, version, charged, truth, takes_only, known)
  end
  replies[n] = pack(REPLY, kind, clamped, change)
end
return table.concat(replies)
