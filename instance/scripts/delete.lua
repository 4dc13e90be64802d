-- An earlier value of the same client is deleted in the transaction of its next SET.
-- KEYS: the lock. ARGV: the value. Reply: 1 if it was deleted.
--guard:leftover-compares  only the client's own earlier value is deleted before its SET
if redis.pcall('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
