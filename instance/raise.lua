-- Raise: lift the counter to a token, while the lock's key holds the value.
-- KEYS: lock, counter. ARGV: nonce, value, token, counter's ttl.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if held ~= ARGV[2] then
  return answer(0, false, 0, 0)
end
local token, set, failure = counter(KEYS[2])
if failure then return failure end
if not token or token < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[2], ARGV[3] .. ' ' .. (set or ''), 'PX', ARGV[4])
else
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return answer(1, false, 0, 0)
