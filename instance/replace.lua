-- Acquire with Replace or with Spare: set the lock's key if it is free or holds the value
-- of a lease that is over, and raise the counter with it.
-- KEYS: lock, and with fencing counter and set's text; and the mark, see run.lua. ARGV: nonce, run, ttl, with fencing
-- a quarter of the counter's ttl, set, how many microseconds the counter may be ahead of
-- the clock and how many tokens to reserve; and value, replaced value, empty for none.
-- The answer's ttl is how many tokens were reserved.
--
-- What acquire.lua says of the proof holds here, too: the counter is raised in the step
-- in which the old value goes. It comes first, so that the old value stays if it fails.
local value, replaced = ARGV[#ARGV - 1], ARGV[#ARGV]
local failure, theirs, known, token, spare
local found = KEYS[3] and redis.call('MGET', KEYS[3])[1]
if KEYS[3] and found ~= text then
  failure, theirs, known = judge(KEYS[3], found)
  if failure then return failure end
  if theirs then return answer(2, theirs, 0, 0) end
end
local held = redis.pcall('GET', KEYS[1])
--guard:replace-compares  a replacement replaces only the value that it names
--guard:reserve-where-free  a request for reserved tokens is refused where the lock is held
if held and (replaced == '' or held ~= replaced) then
  return answer(0, false, redis.call('PTTL', KEYS[1]), 0)
end
if KEYS[3] then
  --guard:replace-counts  a replacement gets a larger token than the value that it replaces
  token, spare, failure = count(KEYS[2], KEYS[3], found, known or run, nil, tonumber(ARGV[7]))
  if failure then return failure end
end
redis.call('SET', KEYS[1], value, 'PX', ARGV[3])
return answer(held and 3 or 1, false, spare or 0, token or 0)
