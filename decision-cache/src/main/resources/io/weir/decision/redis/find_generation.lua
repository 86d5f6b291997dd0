-- SPDX-License-Identifier: Apache-2.0
-- Finds the key that contains a generation being restored.
-- KEYS     keys of generations being restored.
-- ARGV     the generation.
-- Reply    the number of the key that holds it, from 1; 0 if none does. Complexity: O(keys).
for n = 1, #KEYS do
  if redis.pcall('GET', KEYS[n]) == ARGV[1] then return tostring(n) end
end
return '0'
