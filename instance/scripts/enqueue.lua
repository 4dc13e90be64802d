-- Enqueue: put a waiter into the wait queue, unless the lock's key is free.
-- KEYS: lock, queue. ARGV: nonce, waiter, the queue's ttl, 1 for the first position, 1 for
-- a position although the key is free.
if ARGV[5] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then
  return answer(0, false, 0, 0)
end
local there = false
for _, waiter in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  there = there or waiter == ARGV[2]
end
if not there then
  redis.call(ARGV[4] == '1' and 'LPUSH' or 'RPUSH', KEYS[2], ARGV[2])
end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return answer(1, false, 0, 0)
