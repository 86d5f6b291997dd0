-- SPDX-License-Identifier: Apache-2.0
-- Gives a restoration up, unless another one has begun.
-- KEYS     generation being restored, partitions restored of the generation to give up.
-- ARGV     the generation.
-- Reply    1 given up, 0 not going on. Complexity: O(partitions).
redis.call('DEL', KEYS[2])
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return '0' end
redis.call('DEL', KEYS[1])
return '1'
