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
    if string.sub(first, 1, 13) == 'redlock:wake:' then
      local subscribers = redis.pcall('PUBLISH', first, lock)
      if type(subscribers) ~= 'number' then return 0 end
      if subscribers > 0 then return 1 end
    end
  end
end
