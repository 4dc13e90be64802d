-- Acquire with Replace: set the lock's key if it is free or holds the value of a
-- lease that is over, and raise the counter with it.
-- KEYS: lock, and counter with fencing. ARGV: nonce, value, replaced value, ttl,
-- and with fencing counter's ttl, set.
--
-- What acquire.lua says of the proof holds here, too: the counter is raised in the
-- step in which the old value goes, and all that can fail comes first.
local token, set, failure
if KEYS[2] then
  token, set, failure = counter(KEYS[2])
  if failure then return failure end
  if set and set ~= '' and set ~= ARGV[6] and not supersedes(ARGV[6], set) then
    return answer(2, set, 0, 0)
  end
end
local raised = (token or tonumber(now[1]) * 1000000 + tonumber(now[2])) + 1
if KEYS[2] and raised > 9007199254740991 then
  return redis.error_reply('REDLOCKCOUNTER the counter is at its end')
end

-- 3 says that the old value was there.
local outcome = 1
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[4]) then
  if redis.pcall('GET', KEYS[1]) ~= ARGV[3] then
    return answer(0, false, redis.call('PTTL', KEYS[1]), 0)
  end
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4])
  outcome = 3
end
if not KEYS[2] then return answer(outcome, false, 0, 0) end
redis.call('SET', KEYS[2], decimal(raised) .. ' ' .. ARGV[6], 'PX', ARGV[5])
return answer(outcome, false, 0, raised)
