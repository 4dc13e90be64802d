-- Acquire: set the lock's key if it is free, and raise the counter with it.
-- KEYS: lock, counter. ARGV: nonce, value, ttl, counter's ttl, set.
--
-- The proof of the tokens' order needs three things of it: whoever is granted
-- gets a larger token than the counter held, whether or not the counter was
-- there; no grant leaves the counter as it was; and what is refused or fails
-- changes nothing. So all that can fail comes before the first write.
local token, set, failure = counter(KEYS[2])
if failure then return failure end

-- Versions go up to 2^64-1, more than a number here holds: the longer one is
-- the larger, of two that are as long the later in the alphabet.
local function newer(mine, theirs)
  if #mine ~= #theirs then return #mine > #theirs end
  return mine > theirs
end
if set and set ~= ARGV[5] then
  local pattern = '^([^@]*)@(%d+) N=%d+ Q=%d+$'
  local theirname, theirs = string.match(set, pattern)
  local myname, mine = string.match(ARGV[5], pattern)
  if not theirs or not mine or theirname ~= myname or not newer(mine, theirs) then
    return answer(2, set, 0, 0)
  end
end

-- A counter that was lost starts from the clock, which is later than the one
-- that any lost counter started from, and has ticked more often than locks
-- were granted.
local seed = tonumber(now[1]) * 1000000 + tonumber(now[2])
local raised = (token or seed) + 1
if raised > 9007199254740991 then
  return redis.error_reply('REDLOCKCOUNTER the counter is at its end')
end

if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then
  return answer(0, false, redis.call('PTTL', KEYS[1]), 0)
end
redis.call('HSET', KEYS[2], 'token', decimal(raised), 'set', ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return answer(1, false, 0, raised)
