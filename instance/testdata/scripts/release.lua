-- Release: delete each lock's key that holds its value. For the first of the locks, notify
-- a waiter if the key is free then.
-- KEYS: the locks, and the wait queues of the first of them. ARGV: nonce, and the locks'
-- values.
--
-- The reply is a list: the nonce, and a number for each lock. The number is 1, or 0 if the
-- key was gone or held something else; plus 2 if a waiter was notified.
--
-- One script does many locks because the start of a script costs a server as much as two or
-- three commands.
local n = #ARGV - 1
local reply, mine = {ARGV[1]}, {}
local held = redis.call('MGET', unpack(KEYS, 1, n))
for i = 1, n do
  reply[1 + i] = 0
  --guard:delete-compares  only the holder's key is deleted
  if held[i] == ARGV[1 + i] then
    reply[1 + i] = 1
    mine[#mine + 1] = KEYS[i]
  end
end
if mine[1] then redis.call('DEL', unpack(mine)) end

-- Nearly always no process waits, which one EXISTS tells. Without the right to the queues
-- nobody is notified, and all poll: the release must not fail because of that.
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) ~= 'number' or waiting == 0 then return reply end
-- A lock's wait queue is a list of channels, one of each waiting process. notifynext
-- notifies the first one that has a subscriber, and drops those before it, whose processes
-- are gone, and all that is no waiter's channel. It returns 1, or 0 if no process could be
-- notified. It never fails, because the lock's release must not: without the right to do
-- this, no process is notified, and all poll.
local function notifynext(waiters, lock)
  while true do
    local first = redis.pcall('LPOP', waiters)
    if type(first) ~= 'string' then return 0 end
    -- A user who may only write this queue must not make another one publish elsewhere.
    --guard:only-waiters-notified  a release publishes on no other channels than those of waiters
    if string.sub(first, 1, 13) == 'redlock:wake:' then
      local subscribers = redis.pcall('PUBLISH', first, lock)
      if type(subscribers) ~= 'number' then return 0 end
      if subscribers > 0 then return 1 end
    end
  end
end
for i = 1, #KEYS - n do
  if reply[1 + i] == 1 or not held[i] then
    reply[1 + i] = reply[1 + i] + 2 * notifynext(KEYS[n + i], KEYS[i])
  end
end
return reply
