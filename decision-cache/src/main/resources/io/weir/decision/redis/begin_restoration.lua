-- SPDX-License-Identifier: Apache-2.0
-- Elects the node that announces the loss of the cache's state. Deletes the marker of a cold cache.
-- KEYS     marker of a warm cache, generation being restored.
-- ARGV     run ID of this server, the generation to begin (the run ID, '-', any text), duration of
--          the election in milliseconds.
-- Reply    1 elected; 0 if the cache is warm or a restoration of this run ID is in progress.
--          Complexity: O(1).
local marker, restoring, life, generation = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if redis.pcall('GET', marker) == life then return '0' end
-- a marker of another server has arrived by replication; a replica of this server must not find it again
redis.call('DEL', marker)
local current = redis.pcall('GET', restoring)
-- a generation of another run ID was begun before a restart; its messages do not refer to this
-- state
if type(current) == 'string' and string.sub(current, 1, #life + 1) == life .. '-' then return '0' end
redis.call('SET', restoring, generation, 'PX', ARGV[3])
return '1'
