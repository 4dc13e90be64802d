-- Release: delete each lock's key that holds its value, and for some of them call
-- who waits, if the key is free then.
-- KEYS: the locks, and lines of waiters for as many of the first of them. ARGV: nonce,
-- and the locks' values.
--
-- The answer is a list, as acquire.lua's is, without a clock. An element of it is 1, or 0
-- where the key was gone or somebody else's; and 2 more where a waiter was called; or E
-- and an error.
--
-- Nearly always every key holds its value, nobody waits for any of them, which is one
-- question, and no function is needed.
local call, n = redis.call, #ARGV - 1
local answer, mine, plain = {ARGV[1]}, {}, true
local held = call('MGET', unpack(KEYS, 1, n))
for i = 1, n do
  --guard:delete-compares  only the holder's key is deleted
  if held[i] == ARGV[1 + i] then
    answer[1 + i] = 1
    mine[#mine + 1] = KEYS[i]
  else
    answer[1 + i], plain = 0, false
  end
end
-- A lock that is twice in the list is deleted once.
if mine[1] and call('DEL', unpack(mine)) < #mine then plain = false end
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) ~= 'number' or waiting == 0 then waiting = false end
if plain and not waiting then return answer end
