-- SPDX-License-Identifier: Apache-2.0
-- Returns whether the cache is warm. If it is, renews its marker.
-- KEYS     marker.
-- ARGV     run ID of this server, time to live of the marker in milliseconds.
-- Reply    1 warm, 0 cold. Complexity: O(1).
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return '0' end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return '1'
