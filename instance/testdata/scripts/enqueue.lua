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
