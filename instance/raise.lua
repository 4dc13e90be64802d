-- Raise: lift the counter to a token, while the lock's key holds the value.
-- KEYS: lock, counter, set's text. ARGV: nonce, value, token, a quarter of the
-- counter's ttl.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if held ~= ARGV[2] then
  return answer(0, false, 0, 0)
end
local failure = lift(KEYS[2], KEYS[3], ARGV[3], ARGV[4])
if failure then return failure end
return answer(1, false, 0, 0)
