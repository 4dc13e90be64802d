-- Withdraw: take a waiter out of the line. If it was called before, and nobody has
-- the lock, the next one is called.
-- KEYS: lock, waiters. ARGV: nonce, waiter. The answer's token says whether somebody
-- was called.
if redis.call('LREM', KEYS[2], 0, ARGV[2]) > 0 then
  return answer(1, false, 0, 0)
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return answer(0, false, 0, 0)
end
return answer(0, false, 0, callnext(KEYS[2], KEYS[1]))
