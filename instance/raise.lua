-- Raise: lift the counter to a token, while the lock's key holds the value.
-- KEYS: lock, counter, set's text; and the mark, see run.lua.
-- ARGV: nonce, run, value, token, a quarter of the counter's ttl, and how many microseconds
-- the counter may be ahead of the clock.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
--guard:raise-compares  a raise is refused where the key isn't the lease's any more
if held ~= ARGV[3] then
  return answer(0, false, 0, 0)
end
local failure = lift(KEYS[2], KEYS[3], ARGV[4], ARGV[5], ARGV[6])
if failure then return failure end
return answer(1, false, 0, 0)
