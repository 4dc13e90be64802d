-- Release: delete the lock's key, if it holds the value.
-- KEYS: lock. ARGV: nonce, value.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if held ~= ARGV[2] then
  return answer(0, false, 0, 0)
end
redis.call('DEL', KEYS[1])
return answer(1, false, 0, 0)
