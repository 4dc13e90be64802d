-- Dequeue: take a waiter out of the wait queue. If it was notified before, and the lock is
-- free, notify the next one.
-- KEYS: lock, queue. ARGV: waiter. Reply: the clock, and 1 if it was there, or 2 if another waiter
-- was notified, or 0.
if redis.call('LREM', KEYS[2], 0, ARGV[1]) > 0 then return {clock, 1} end
if redis.call('EXISTS', KEYS[1]) == 1 then return {clock, 0} end
return {clock, 2 * notifynext(KEYS[2], KEYS[1])}
