-- Raise: lift the counter to a token, while the lock's key holds the value.
-- KEYS: lock, counter. ARGV: nonce, value, token, counter's ttl.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if held ~= ARGV[2] then
  return answer(0, false, 0, 0)
end
local token, _, failure = counter(KEYS[2])
if failure then return failure end
if not token or token < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[2], 'token', ARGV[3])
end
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return answer(1, false, 0, 0)
