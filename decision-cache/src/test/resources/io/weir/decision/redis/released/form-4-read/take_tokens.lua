-- SPDX-License-Identifier: Apache-2.0
-- Decides checks in order: each takes its cost from all of its buckets or from none. A denial and a
-- peek write nothing. Mirrors CheckDecider.decide. Preceded by bucket.lua.
-- KEYS     the marker of a warm cache, then the buckets' keys, check after check.
-- ARGV[1]  the run ID known to the caller: the cache is warm if the marker holds exactly this.
-- ARGV[n]  check n - 1, little-endian: peek u8 (0, 1), buckets u8 (1 to 16), cost i64 (>= 1); then
--          per bucket: mode u8 (0 shadow, 1 enforced, 2 enforced and not to be used while the cache
--          is cold), its limit 4 i64.
-- Reply    one string, little-endian: now i64 (microseconds since 1970), warm u8 (0, 1); then per
--          check: verdict u8 (0 denied, 1 allowed, 2 cost above capacity, 3 corrupt, 4 cold),
--          deciding bucket u8 (255 none); then per bucket: flags u8 (1 sufficient, 2 charged),
--          remaining tokens, reset micros, retry-after micros (-1 never), epoch, version, charged
--          tokens i64 (all 0 if corrupt or cold).
-- Complexity: O(buckets). A stored value that is not a bucket's state makes its check corrupt and
-- is left unchanged. A key charged twice is written once.
local BUCKET, REPLY = '<Bi8i8i8i8', '<Bi8i8i8i8i8i8'
local NO_REPLY = pack(REPLY, 0, 0, 0, 0, 0, 0, 0)
local warm = ARGV[1] ~= '' and redis.pcall('GET', KEYS[1]) == ARGV[1]

local function charge(view, cost)
  if view.units + view.per_tick > view.capacity and view.last < now then view.last = now end
  view.units = view.units - cost * view.per_token
  view.charged = view.charged + cost
  if view.epoch == 0 or view.charged >= EXACT then
    view.epoch, view.charged = view.epoch < now and now or view.epoch + 1, cost
    view.corrected, view.version = 0, 0
  end
  charged_views[view.key] = view
end

local replies, views, key_index = { pack('<i8B', now, warm and 1 or 0) }, {}, 1
for n = 2, #ARGV do
  local arg, corrupt, cold, deciding, longest, never = ARGV[n], false, false, 255, 0, false
  local peek, count, cost, at = unpack('<BBi8', arg)
  for i = 1, count do
    local mode, tick, per_tick, per_token, capacity
    mode, tick, per_tick, per_token, capacity, at = unpack(BUCKET, arg, at)
    local view = load(KEYS[key_index + i], mode, tick, per_tick, per_token, capacity)
    if mode == 2 and not warm then cold = true end
    if view then
      refill(view)
      local can_hold = cost <= capacity / per_token
      local retry = can_hold and wait(view, cost * per_token - view.units) or -1
      if retry ~= 0 and mode ~= 0 and not never and (not can_hold or retry > longest) then
        deciding, longest, never = i - 1, retry, not can_hold
      end
      view.retry = retry
    else
      corrupt = true
    end
    views[i] = view
  end
  key_index = key_index + count
  if cold or corrupt then
    replies[#replies + 1] = string.char(cold and 4 or 3, 255) .. string.rep(NO_REPLY, count)
  else
    local verdict = never and 2 or deciding == 255 and 1 or 0
    replies[#replies + 1] = string.char(verdict, deciding)
    for i = 1, count do
      local view = views[i]
      local flags = view.retry == 0 and 1 or 0
      if flags == 1 and verdict == 1 and peek == 0 then
        charge(view, cost)
        flags = 3
      end
      view.reset = time_to_full(view)
      replies[#replies + 1] = pack(REPLY, flags, max(floor(view.units / view.per_token), 0), view.reset,
        view.retry, view.epoch, view.corrected == view.epoch and view.version or 0, view.charged)
    end
  end
end
for _, view in pairs(charged_views) do store(view) end
return table.concat(replies)
