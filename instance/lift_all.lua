-- LiftAll: Raise and Restore of a lease on several keys. Lift each counter to a token, while all
-- keys hold the value; Restore sets the keys that are missing. Otherwise change nothing.
-- KEYS: the locks, with fencing their counters and their sets' texts; and the mark, see
-- run.lua.
-- ARGV: nonce, run, the number of locks, value, ttl, or 0 for Raise; with fencing token, a
-- quarter of the counter's ttl, how many microseconds the counter may be ahead of the clock,
-- and set.
--
-- Everything is read before anything is written. After a Restore each key has at least the ttl,
-- those that hold the value, too: they may have been left over by an extension that found
-- another one missing.
local n, value, ttl = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local held, found = {}, {}
for i = 1, n do
  held[i] = redis.pcall('GET', KEYS[i])
  if type(held[i]) == 'table' then return held[i] end
  --guard:lift-all-compares  a raise or restore of several keys is refused where any of them isn't the lease's
  if held[i] ~= value and (held[i] or ttl == 0) then return answer(0, false, 0, 0) end
end

if KEYS[2 * n] then
  local token, ahead = ARGV[6], ARGV[8]
  local clock = now[1] * 1000000 + now[2]
  --guard:lift-all-bounded  no raise or restore of several keys settles a token that is further ahead of the clock than the client allows
  if tonumber(token) > clock + ahead then
    return redis.error_reply(string.format('REDLOCKCOUNTER %s %.0f', token, clock))
  end
  for i = 1, n do
    local _, failure = tokenin(KEYS[n + i])
    if failure then return failure end
    found[i] = redis.pcall('GET', KEYS[2 * n + i])
    if type(found[i]) == 'table' then return found[i] end
  end
  for i = 1, n do
    --guard:all-are-lifted  a raise or restore of several keys lifts each counter
    lift(KEYS[n + i], KEYS[2 * n + i], token, ARGV[7], ahead)
    if ttl > 0 and not found[i] then
      redis.call('SET', KEYS[2 * n + i], ARGV[9] .. ' 0/0 ', 'PX', redis.call('PTTL', KEYS[n + i]))
    end
  end
end

for i = 1, n do
  if ttl > 0 and not held[i] then
    redis.call('SET', KEYS[i], value, 'PX', ARGV[5])
  elseif ttl > 0 then
    local left = redis.call('PTTL', KEYS[i])
    --guard:rest-gets-time  where a lease on several keys is put back each key has the whole TTL
    if left >= 0 and left < ttl then redis.call('PEXPIRE', KEYS[i], ARGV[5]) end
  end
end
return answer(1, false, 0, 0)
