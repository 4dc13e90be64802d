-- Release: delete each lock's key that holds its value, and for some of them call
-- who waits, if the key is free then.
-- KEYS: the locks, and lines of waiters for as many of the first of them. ARGV: nonce,
-- and the locks' values.
--
-- An element of the answer is 1, or 0 where the key was gone or somebody else's; and
-- 2 more where a waiter was called.
local n, answer, mine = #ARGV - 1, {ARGV[1]}, {}
local held = redis.call('MGET', unpack(KEYS, 1, n))
for i = 1, n do
  local key, value, done = KEYS[i], held[i], 0
  if not value then
    -- MGET says the same of a key that isn't there and of one that is no text.
    local why = redis.pcall('GET', key)
    if type(why) == 'table' then done = failed(why) end
  elseif value == ARGV[1 + i] and not mine[key] then
    done, mine[key] = 1, true
    mine[#mine + 1] = key
  end
  answer[1 + i] = done
end
if mine[1] then redis.call('DEL', unpack(mine)) end

-- Nearly always nobody waits for any of them, which is one question.
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) == 'number' and waiting > 0 then
  for i = 1, #KEYS - n do
    local done = answer[1 + i]
    if done == 1 or done == 0 and not held[i] then answer[1 + i] = done + 2 * callnext(KEYS[n + i], KEYS[i]) end
  end
end
return answer
