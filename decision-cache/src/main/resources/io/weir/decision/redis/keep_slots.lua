-- SPDX-License-Identifier: Apache-2.0
-- Stores the slots that a server holds when its restoration begins.
-- KEYS     generation that is being restored, slots of the generation.
-- ARGV     the generation, its slots (bytes, not empty), time to live of a restoration in milliseconds.
-- Reply    1 if the slots are stored, 0 if another generation has begun. Complexity: O(1).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return '0' end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return '1'
