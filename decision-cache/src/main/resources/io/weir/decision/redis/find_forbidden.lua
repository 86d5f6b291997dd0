-- SPDX-License-Identifier: Apache-2.0
-- Finds the commands which the scripts need, but which the user must not run. Redis checks the permission before it
-- runs a command. No command changes a missing key, except RPUSH and SADD, after which the key is deleted.
-- KEYS     a key that no other script uses.
-- Reply    the names of these commands, separated by commas; empty without such a command. Complexity: O(1).
local key, forbidden = KEYS[1], {}

local function try(name, ...)
  local reply = redis.pcall(name, ...)
  local err = type(reply) == 'table' and reply.err or ''
  for _, words in ipairs({ 'NOPERM', 'he user executing the script', 'nknown Redis command' }) do
    if string.find(err, words, 1, true) then
      forbidden[#forbidden + 1] = name
      return
    end
  end
end

try('TIME')
for _, name in ipairs({ 'GET', 'PTTL', 'DEL', 'LLEN', 'ZCARD', 'SCARD' }) do try(name, key) end
for _, name in ipairs({ 'GETRANGE', 'LTRIM', 'ZCOUNT', 'ZRANGE', 'ZREMRANGEBYSCORE' }) do try(name, key, 0, 0) end
for _, name in ipairs({ 'PEXPIRE', 'LINDEX', 'ZSCORE', 'ZREM' }) do try(name, key, 1) end
try('SET', key, '', 'XX')
try('ZADD', key, 'XX', 0, 'none')
try('ZINCRBY', key, 'not a number', 'none')
if #forbidden == 0 then
  for _, name in ipairs({ 'RPUSH', 'SADD' }) do
    try(name, key, 'none')
    redis.pcall('DEL', key)
  end
end
return table.concat(forbidden, ', ')
