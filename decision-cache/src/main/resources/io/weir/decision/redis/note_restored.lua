-- SPDX-License-Identifier: Apache-2.0
-- Records that a partition is restored. When all partitions are restored, the cache becomes warm.
-- KEYS     marker, generation that is being restored, restored partitions of the generation.
-- ARGV     run ID of this server, the generation, the partition, the number of partitions, time to
--          live of the marker, time to live of a restoration (both in milliseconds).
-- Reply    1 if the cache is warm now, otherwise 0. A call for another generation than the one that is
--          being restored has no effect. Complexity: O(partitions).
local marker, restoring, restored, life, generation = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
if redis.pcall('GET', restoring) ~= generation or string.sub(generation, 1, #life + 1) ~= life .. '-' then
  return redis.pcall('GET', marker) == life and '1' or '0'
end
redis.call('SADD', restored, ARGV[3])
if redis.call('SCARD', restored) < tonumber(ARGV[4]) then
  redis.call('PEXPIRE', restored, ARGV[6])
  redis.call('PEXPIRE', restoring, ARGV[6])
  return '0'
end
redis.call('SET', marker, life, 'PX', ARGV[5])
redis.call('DEL', restoring, restored)
return '1'
