-- Extend: set the TTL of the lock's key, if it holds the value.
-- KEYS: lock; and the mark, see run.lua. ARGV: nonce, run, value, ttl.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
--guard:extend-compares  only the holder's key is extended
--guard:extend-sets-nothing  an extension doesn't set a key that is gone
if held ~= ARGV[3] then
  return answer(0, false, 0, 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return answer(1, false, 0, 0)
