-- SPDX-License-Identifier: Apache-2.0
-- Returns which slots of this server are warm, and renews the markers of these slots.
-- KEYS     markers of slots.
-- ARGV     run ID of this server, time to live of a marker in milliseconds, then the run IDs of servers
--          that have handed over slots. A marker with such a run ID was moved together with its slot.
-- Reply    a character for each marker: 1 warm, 0 cold, 2 the slot is being moved or was moved.
--          Complexity: O(slots).
local life, ttl, others, values, warm = ARGV[1], ARGV[2], {}, {}, {}
for n = 3, #ARGV do others[ARGV[n]] = true end
for n = 1, #KEYS do
  values[n] = redis.pcall('GET', KEYS[n])
end
for n = 1, #KEYS do
  if type(values[n]) == 'table' then
    warm[n] = '2'
  elseif values[n] == life then
    redis.call('PEXPIRE', KEYS[n], ttl)
    warm[n] = '1'
  elseif values[n] and others[values[n]] then
    redis.call('SET', KEYS[n], life, 'PX', ttl)
    warm[n] = '1'
  else
    warm[n] = '0'
  end
end
return table.concat(warm)
