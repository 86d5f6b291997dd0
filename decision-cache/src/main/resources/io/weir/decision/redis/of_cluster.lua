-- SPDX-License-Identifier: Apache-2.0
-- The part that precedes every script for a server of Redis Cluster. A call has keys of many slots, all on
-- this server. Redis accepts declared keys of only one slot, so the keys are passed as arguments. A script
-- without a first line of flags (#!lua) may use all keys of its server. The script fails when it reads a
-- key of a slot that this server does not hold. It has then written nothing, because the scripts read all
-- related keys before they write a key.
-- ARGV[1]  number of keys. ARGV[2]: number of markers. Then the keys, then the script's arguments.
-- Markers  the first keys. The script gets only one of them. It is a marker without the run ID if there is
--          such a marker. The run ID is the first argument of the script.
local KEYS, ARGV = (function(all)
  local key_count, marker_count, keys, arguments = tonumber(all[1]), tonumber(all[2]), {}, {}
  local life = all[3 + key_count]
  for n = 3, 2 + marker_count do
    if not keys[1] or redis.pcall('GET', all[n]) ~= life then keys[1] = all[n] end
  end
  for n = 3 + marker_count, 2 + key_count do keys[#keys + 1] = all[n] end
  for n = 3 + key_count, #all do arguments[#arguments + 1] = all[n] end
  return keys, arguments
end)(ARGV)
