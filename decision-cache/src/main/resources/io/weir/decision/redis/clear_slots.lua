-- SPDX-License-Identifier: Apache-2.0
-- Deletes the markers of cold slots. They have arrived by replication from the server that this server
-- has replaced. They would be valid again if that server returned.
-- KEYS     markers of slots.
-- ARGV     run ID of this server.
-- Reply    1. Complexity: O(slots).
for n = 1, #KEYS do
  local holds = redis.pcall('GET', KEYS[n])
  if type(holds) == 'string' and holds ~= ARGV[1] then redis.pcall('DEL', KEYS[n]) end
end
return '1'
