-- Release: delete each lock's key that holds its value. For the first of the locks, notify
-- a waiter if the key is free then.
-- KEYS: the locks, and the wait queues of the first of them. ARGV: nonce, and the locks'
-- values.
--
-- The reply is a list like acquire.lua's, without a clock. An element is 1, or 0 if the key
-- was gone or held another value; plus 2 if a waiter was notified; or E and an error.
--
-- Nearly always every key holds its value and no process waits, which one EXISTS tells, and
-- no function is needed.
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
-- If a lock is in the list twice, it is deleted once.
if mine[1] and call('DEL', unpack(mine)) < #mine then plain = false end
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) ~= 'number' or waiting == 0 then waiting = false end
if plain and not waiting then return answer end
-- A lock's wait queue is a list of channels, one of each waiting process. notifynext
-- notifies the first one that has a subscriber, and drops those before it, whose processes
-- are gone. It returns 1, or 0 if no process could be notified. It never fails, because the
-- lock's release must not: without the right to do this, no process is notified, and all
-- poll.
local function notifynext(waiters, lock)
  while true do
    local first = redis.pcall('LPOP', waiters)
    if type(first) ~= 'string' then return 0 end
    local subscribers = redis.pcall('PUBLISH', first, lock)
    if type(subscribers) ~= 'number' then return 0 end
    if subscribers > 0 then return 1 end
  end
end
-- The rest is seldom needed.
local deleted = {}
for i = 1, n do
  local key = KEYS[i]
  if answer[1 + i] == 1 then
    if deleted[key] then answer[1 + i] = 0 end
    deleted[key] = true
  elseif not held[i] then
    -- MGET returns the same for a missing key and for one that is no string.
    local why = redis.pcall('GET', key)
    if type(why) == 'table' then answer[1 + i] = 'E' .. why.err end
  end
end
if waiting then
  for i = 1, #KEYS - n do
    local done = answer[1 + i]
    if done == 1 or done == 0 and not held[i] then answer[1 + i] = done + 2 * notifynext(KEYS[n + i], KEYS[i]) end
  end
end
return answer
