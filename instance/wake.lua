-- Release with Wake: delete the lock's key, if it holds the value, and call who
-- waits for it, if it is free then.
-- KEYS: lock, waiters. ARGV: nonce, value. The answer's token says whether somebody
-- was called.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if not held then
  return answer(0, false, 0, callnext(KEYS[2], KEYS[1]))
end
if held ~= ARGV[2] then
  return answer(0, false, 0, 0)
end
redis.call('DEL', KEYS[1])
return answer(1, false, 0, callnext(KEYS[2], KEYS[1]))
