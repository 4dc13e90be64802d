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
-- tokenin returns a counter's token, 0 if there is none; or nil and an error.
local function tokenin(counter)
  local text = redis.pcall('GET', counter)
  if type(text) == 'table' then return nil, text end
  if not text or text == '0' then return 0 end
  if not string.match(text, '^[1-9]%d*$') or #text > 16 or tonumber(text) > 9007199254740991 then
    return nil, redis.error_reply('REDLOCKCOUNTER the counter is not a token')
  end
  return tonumber(text)
end
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
