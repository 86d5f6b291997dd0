-- SPDX-License-Identifier: Apache-2.0
-- Deletes the markers of slots that are cold: they have come by replication from a server that this
-- one has replaced, and would come back with that server.
-- KEYS     markers of slots.
-- ARGV     run ID of this server.
-- Reply    1. Complexity: O(slots).
for n = 1, #KEYS do
  local holds = redis.pcall('GET', KEYS[n])
  if type(holds) == 'string' and holds ~= ARGV[1] then redis.pcall('DEL', KEYS[n]) end
end
return '1'
