-- lift raises a counter to a token if it is lower. It fails if the token is more than ahead
-- microseconds above the clock (see most in counter.lua), also where the counter is there
-- already: it may be one that a grant in vain has left (transaction.go), or the clock was set
-- back. It returns an error, or nothing. The text beside the
-- counter stays, because this is no grant: if the counter is older than this run of the
-- server, the next grant must still see that.
--
-- Both keys keep at least four quarters of TTL, and never less than they had, because the
-- text says that they have more.
local function lift(counter, key, token, quarter, ahead)
  local held, failure = tokenin(counter)
  if failure then return failure end
  local clock = now[1] * 1000000 + now[2]
  --guard:lift-bounded  no raise or restore settles a token that is further ahead of the clock than the client allows
  if tonumber(token) > clock + ahead then
    return redis.error_reply(string.format('REDLOCKCOUNTER %s %.0f', token, clock))
  end
  local left = redis.call('PTTL', counter)
  local stale = left < 4 * quarter
  --guard:raise-keeps-time  a raise never shortens a counter's time to live
  if stale then left = 6 * quarter end
  --guard:raise-only-lifts  a raise never lowers a counter
  if held < tonumber(token) then
    redis.call('SET', counter, token, 'PX', left)
  elseif stale then
    redis.call('PEXPIRE', counter, left)
  end
  if stale then redis.call('PEXPIRE', key, left) end
end
