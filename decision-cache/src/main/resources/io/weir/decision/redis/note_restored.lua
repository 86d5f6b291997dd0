-- SPDX-License-Identifier: Apache-2.0
-- Notes that a partition is restored; when all are, the cache is warm.
-- KEYS     marker of the cache's life, generation being restored, partitions restored of the generation.
-- ARGV     life of this server, the generation, the partition, how many partitions there are, time to live
--          of the marker, time to live of a restoration (both in milliseconds).
-- Reply    1 when the cache is warm now, 0 when it is not. Another generation than the one being restored
--          changes nothing. Complexity: O(partitions).
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
