-- SPDX-License-Identifier: Apache-2.0
-- Finds the key that contains a generation which is being restored.
-- KEYS     keys of generations that are being restored.
-- ARGV     the generation.
-- Reply    the number of the key that contains it, from 1; 0 if no key contains it. Complexity: O(keys).
for n = 1, #KEYS do
  if redis.pcall('GET', KEYS[n]) == ARGV[1] then return tostring(n) end
end
return '0'
