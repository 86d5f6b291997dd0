-- SPDX-License-Identifier: Apache-2.0
-- Records that a partition is restored, and returns whether all are.
-- KEYS     generation being restored, partitions restored of the generation.
-- ARGV     run ID of this server, the generation, the partition, the number of partitions, time to
--          live of a restoration in milliseconds.
-- Reply    1 if all partitions are restored, otherwise 0. A generation other than the one being
--          restored changes nothing. Complexity: O(1).
local restoring, restored, generation = KEYS[1], KEYS[2], ARGV[2]
if redis.pcall('GET', restoring) ~= generation or string.sub(generation, 1, #ARGV[1] + 1) ~= ARGV[1] .. '-' then
  return '0'
end
redis.call('SADD', restored, ARGV[3])
redis.call('PEXPIRE', restored, ARGV[5])
redis.call('PEXPIRE', restoring, ARGV[5])
return redis.call('SCARD', restored) < tonumber(ARGV[4]) and '0' or '1'
