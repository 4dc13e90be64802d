-- Look: read the lock, and with fencing the counter; write nothing.
-- KEYS: lock, with fencing counter. ARGV: nonce.
-- A value longer than any lock's is cut, because too long a reply would cost the connection
-- and the other replies on it.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
local token, failure = 0, nil
if KEYS[2] then
  token, failure = tokenin(KEYS[2])
  if failure then return failure end
end
if not held then
  return answer(1, false, 0, token)
end
--guard:long-values-cut  a long value in one lock's place doesn't fail the commands of other locks
return answer(0, string.sub(held, 1, 16384), redis.call('PTTL', KEYS[1]), token)
