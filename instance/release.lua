-- Release: delete each lock's key that holds its value, and for some of them call
-- who waits, if the key is free then.
-- KEYS: the locks, and lines of waiters. ARGV: nonce, clock, the number of locks, the
-- locks' values, and for each line which lock it is for.
--
-- An element of the answer is 1, or 0 where the key was gone or somebody else's; and
-- 2 more where a waiter was called.
local n = tonumber(ARGV[3])
local held, mine, seen, free = redis.call('MGET', unpack(KEYS, 1, n)), {}, {}, {}
for i = 1, n do
  local key, done = KEYS[i], 0
  local value = held[i]
  if not value then
    -- MGET says the same of a key that isn't there and of one that is no text.
    local why = redis.pcall('GET', key)
    if type(why) == 'table' then done = failed(why) else free[i] = true end
  elseif value == ARGV[3 + i] and not seen[key] then
    done, seen[key], free[i] = 1, true, true
    mine[#mine + 1] = key
  end
  answer[3 + i] = done
end
if #mine > 0 then redis.call('DEL', unpack(mine)) end

-- Nearly always nobody waits for any of them, which is one question.
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) == 'number' and waiting > 0 then
  for j = n + 1, #KEYS do
    local i = tonumber(ARGV[3 + j])
    if free[i] then answer[3 + i] = answer[3 + i] + 2 * callnext(KEYS[j], KEYS[i]) end
  end
end
return answer
