-- SPDX-License-Identifier: Apache-2.0
-- Marks slots as warm if the generation is still being restored.
-- KEYS     generation that is being restored, then markers of slots.
-- ARGV     run ID of this server, the generation, time to live of a marker in milliseconds.
-- Reply    1 if the slots are marked, otherwise 0. A slot that is being moved is not marked. Complexity: O(slots).
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return '0' end
for n = 2, #KEYS do redis.pcall('SET', KEYS[n], ARGV[1], 'PX', ARGV[3]) end
return '1'
