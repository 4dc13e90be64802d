-- Release of one lock: delete its key if it holds the value, and notify a waiter if the key is
-- free then.
-- KEYS: the lock, and its wait queue if a waiter is to be notified. ARGV: the value.
-- Reply: 1 if the key was deleted, plus 2 if a waiter was notified.
local held, done = redis.pcall('GET', KEYS[1]), 0
--guard:unread-is-no-answer  a release that may not read the key doesn't say that it is gone
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
--guard:delete-compares  only the holder's key is deleted
if held == ARGV[1] then
  redis.call('DEL', KEYS[1])
  held, done = false, 1
end
if KEYS[2] and not held then return done + 2 * notifynext(KEYS[2], KEYS[1]) end
return done
