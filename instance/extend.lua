-- Extend: give the lock's key more time, if it holds the value.
-- KEYS: lock. ARGV: nonce, value, ttl.
local now = redis.call('TIME')
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if held ~= ARGV[2] then
  return {ARGV[1], 'R', '', 0, '0', now[1], now[2]}
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {ARGV[1], 'G', '', 0, '0', now[1], now[2]}
