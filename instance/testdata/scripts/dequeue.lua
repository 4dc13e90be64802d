-- now is the server's clock: seconds, and microseconds of the second.
local now = redis.call('TIME')
-- answer makes the reply of a script for one lock: the nonce, the outcome (0 refused, 1
-- granted, 2 refused because of the set, 3 granted in place of another value), a text or
-- false, a TTL (or the number of reserved tokens), a token, and the clock. Numbers are
-- integers on the wire: up to 2^53 they are exact in Lua, and cost the client less than
-- strings.
local function answer(outcome, text, ttl, token)
  return {tonumber(ARGV[1]), outcome, text, ttl, token, tonumber(now[1]), tonumber(now[2])}
end
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
-- Dequeue: take a waiter out of the wait queue. If it was notified before, and the lock is
-- free, notify the next one.
-- KEYS: lock, queue. ARGV: nonce, waiter. The reply's token is 1 if a waiter was notified.
if redis.call('LREM', KEYS[2], 0, ARGV[2]) > 0 then
  return answer(1, false, 0, 0)
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return answer(0, false, 0, 0)
end
return answer(0, false, 0, notifynext(KEYS[2], KEYS[1]))
