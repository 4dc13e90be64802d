-- Raise and Restore: lift each lock's counter to a token, while all keys hold the value; Restore
-- sets the keys that are missing. Otherwise change nothing.
-- KEYS: the locks, with fencing their counters and their sets' texts; and the mark, see
-- run.lua.
-- ARGV: nonce, run, the number of locks, value, ttl, or 0 for Raise; with fencing token, a
-- quarter of the counter's ttl, how many microseconds the counter may be ahead of the clock,
-- and set.
--
-- Everything is read before anything is written. After a Restore each key has at least the ttl,
-- those that hold the value, too: they may have been left over by an extension that found
-- another one missing.
--
-- The text beside a counter stays, because this is no grant: if the counter is older than this
-- run of the server, the next grant must still see that. Where there is none, a Restore writes
-- one without a run: this is no vote on the set, and no statement about the counter.
--
-- The locks' keys come last, because everything before them may fail.
local n, value, ttl = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local token, quarter = tonumber(ARGV[6]), tonumber(ARGV[7])
local held, found, counted = {}, {}, {}
for i = 1, n do
  held[i] = redis.pcall('GET', KEYS[i])
  if type(held[i]) == 'table' then return held[i] end
  --guard:raise-compares  a raise is refused where the key isn't the lease's any more
  --guard:restore-compares  a lease isn't put back over another holder's key
  if held[i] ~= value and (held[i] or ttl == 0) then return answer(0, false, 0, 0) end
end

if token then
  local clock = now[1] * 1000000 + now[2]
  --guard:lift-bounded  no raise or restore settles a token that is further ahead of the clock than the client allows
  if token > clock + ARGV[8] then
    return redis.error_reply(string.format('REDLOCKCOUNTER %.0f %.0f', token, clock))
  end
  for i = 1, n do
    local failure
    counted[i], failure = tokenin(KEYS[n + i])
    if failure then return failure end
    found[i] = redis.pcall('GET', KEYS[2 * n + i])
    if type(found[i]) == 'table' then return found[i] end
  end
  for i = 1, n do
    -- Both keys keep at least four quarters of TTL, and never less than they had, because the
    -- text says that they have more.
    local counter, text = KEYS[n + i], KEYS[2 * n + i]
    local left = redis.call('PTTL', counter)
    local stale = left < 4 * quarter
    --guard:raise-keeps-time  a raise never shortens a counter's time to live
    if stale then left = 6 * quarter end
    --guard:restore-has-token  a lease is put back with its token
    --guard:raise-only-lifts  a raise never lowers a counter
    if counted[i] < token then
      redis.call('SET', counter, ARGV[6], 'PX', left)
    elseif stale then
      redis.call('PEXPIRE', counter, left)
    end
    if ttl > 0 and not found[i] then
      redis.call('SET', text, ARGV[9] .. ' 0/0 ', 'PX', left)
    elseif stale then
      redis.call('PEXPIRE', text, left)
    end
  end
end

for i = 1, n do
  if ttl > 0 and not held[i] then
    redis.call('SET', KEYS[i], value, 'PX', ARGV[5])
  elseif ttl > 0 then
    local left = redis.call('PTTL', KEYS[i])
    --guard:rest-gets-time  where a lease is put back each key has the whole TTL
    if left >= 0 and left < ttl then redis.call('PEXPIRE', KEYS[i], ARGV[5]) end
  end
end
return answer(1, false, 0, 0)
