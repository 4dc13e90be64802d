-- Earlier values of the same client are deleted in the transaction of its next SETs: a list of them, because a
-- script's start costs a server as much as two or three commands.
-- KEYS: the locks. ARGV: the values, one for each lock. Reply: for each 1 if it was deleted.
local reply = {}
for i = 1, #KEYS do
  reply[i] = 0
  --guard:leftover-compares  only the client's own earlier value is deleted before its SET
  if redis.pcall('GET', KEYS[i]) == ARGV[i] then reply[i] = redis.call('DEL', KEYS[i]) end
end
return reply
