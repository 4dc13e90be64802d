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
