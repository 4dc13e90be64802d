-- Acquire with Replace or Reserve: set the lock's key if it is free or holds the replaced
-- value, and raise the counter in the same step.
-- KEYS: lock, with fencing counter and set's text; and the mark, see run.lua.
-- ARGV: nonce, run, ttl; with fencing a quarter of the counter's ttl, set, how many
-- microseconds the counter may be ahead of the clock, and how many tokens to reserve; then
-- value, and replaced value or ''.
-- The reply's ttl is the number of reserved tokens.
--
-- The properties in acquire.lua hold here, too. The counter comes first, so that the old
-- value stays if it fails.
local value, replaced = ARGV[#ARGV - 1], ARGV[#ARGV]
local failure, theirs, known, token, spare
local found = KEYS[3] and redis.call('MGET', KEYS[3])[1]
if KEYS[3] and found ~= text then
  failure, theirs, known = readset(KEYS[3], found)
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
