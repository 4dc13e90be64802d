-- Enqueue: put a waiter into the wait queue, unless the lock's key is free.
-- KEYS: lock, queue. ARGV: waiter, the queue's ttl, 1 for the first position, 1 for a position
-- although the key is free. Reply: the clock, and 1 or 0.
if ARGV[4] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {clock, 0} end
local there = false
for _, waiter in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  there = there or waiter == ARGV[1]
end
if not there then redis.call(ARGV[3] == '1' and 'LPUSH' or 'RPUSH', KEYS[2], ARGV[1]) end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return {clock, 1}
