-- Restore: set the key of a running lease again where it is missing.
-- KEYS: lock, with fencing counter and set's text; and the mark, see run.lua.
-- ARGV: nonce, run, value, ttl; with fencing token, a quarter of the counter's ttl, set, and
-- how many microseconds the counter may be ahead of the clock.
--
-- A key that holds the value already keeps its TTL. The set's text is written only where
-- there is none, and without a run: this is no vote on the set, and no statement about the
-- counter. The lock's key comes last, because everything before it may fail.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
--guard:restore-compares  a lease isn't put back over another holder's key
if held and held ~= ARGV[3] then
  return answer(0, false, 0, 0)
end
if KEYS[3] then
  local found = redis.pcall('GET', KEYS[3])
  if type(found) == 'table' then return found end
  --guard:restore-has-token  a lease is put back with its token
  local failure = lift(KEYS[2], KEYS[3], ARGV[5], ARGV[6], ARGV[8])
  if failure then return failure end
  if not found then
    redis.call('SET', KEYS[3], ARGV[7] .. ' 0/0 ', 'PX', redis.call('PTTL', KEYS[2]))
  end
end
if not held then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
end
return answer(1, false, 0, 0)
