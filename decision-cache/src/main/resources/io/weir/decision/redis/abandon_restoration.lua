-- SPDX-License-Identifier: Apache-2.0
-- Abandons a restoration unless another restoration has begun.
-- KEYS     generation that is being restored, restored partitions of the generation to abandon.
-- ARGV     the generation.
-- Reply    1 if it was abandoned, 0 if it was not in progress. Complexity: O(partitions).
redis.call('DEL', KEYS[2])
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return '0' end
redis.call('DEL', KEYS[1])
return '1'
