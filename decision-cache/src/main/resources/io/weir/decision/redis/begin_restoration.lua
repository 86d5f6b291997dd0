-- SPDX-License-Identifier: Apache-2.0
-- Elects the node that reports the loss of the cache's state. Deletes the marker of a cold cache.
-- KEYS     marker, generation that is being restored; in a cluster also the slots of the generation.
-- ARGV     run ID of this server, the generation to begin (the run ID, '-', any text), duration of
--          the election in milliseconds; in a cluster also the slots that this server holds (bytes, not empty).
-- Reply    1 if the node is elected; 0 if the cache is warm or a restoration of this run ID is in progress.
--          Complexity: O(1).
local marker, restoring, life, generation = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if redis.pcall('GET', marker) == life then return '0' end
-- the marker of another server has arrived by replication; no replica of this server may keep it
redis.call('DEL', marker)
local current = redis.pcall('GET', restoring)
-- a generation of another run ID began before a restart; its records do not refer to this
-- state
if type(current) == 'string' and string.sub(current, 1, #life + 1) == life .. '-' then return '0' end
redis.call('SET', restoring, generation, 'PX', ARGV[3])
if KEYS[3] then redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[3]) end
return '1'
