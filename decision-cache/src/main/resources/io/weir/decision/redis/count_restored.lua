-- SPDX-License-Identifier: Apache-2.0
-- Records that a partition is restored. Returns the slots of the restoration if all partitions are restored.
-- KEYS     generation that is being restored, its restored partitions, its slots.
-- ARGV     run ID of this server, the generation, the partition, the number of partitions, time to
--          live of a restoration in milliseconds.
-- Reply    the slots if all partitions are restored, otherwise nothing. A call for another generation
--          than the one that is being restored has no effect. Complexity: O(1).
local restoring, restored, generation = KEYS[1], KEYS[2], ARGV[2]
if redis.pcall('GET', restoring) ~= generation or string.sub(generation, 1, #ARGV[1] + 1) ~= ARGV[1] .. '-' then
  return ''
end
redis.call('SADD', restored, ARGV[3])
for n = 1, #KEYS do redis.call('PEXPIRE', KEYS[n], ARGV[5]) end
if redis.call('SCARD', restored) < tonumber(ARGV[4]) then return '' end
return redis.call('GET', KEYS[3]) or ''
