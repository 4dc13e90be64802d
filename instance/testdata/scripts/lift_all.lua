-- now is the server's clock: seconds, and microseconds of the second.
local now = redis.call('TIME')
-- Only the server that the client knows does anything, in the run that the client knows, and
-- no replica does, writable or not: a master's replication ID is its own from its start or
-- its promotion on. The script compares it, because only that is one step with what the
-- script does, whatever stands between the client and the server.
--
-- If the run has an epoch, the last key is the mark (see mark.lua), which must contain the
-- replication ID and the epoch. So no client is granted anything here once the mark is gone
-- with the data, or was written anew because the name had led elsewhere.
local run = ARGV[2]
if run ~= '' then
  local info, id = redis.call('INFO', 'replication'), string.match(run, '^[^@]*')
  --guard:run-is-compared  a script does nothing in another run than it was sent for
  --guard:role-is-compared  a script does nothing on a replica, writable or not
  local same = string.find(info, 'role:master', 1, true) and string.find(info, 'master_replid:' .. id, 1, true)
  local mark = id ~= run and redis.pcall('GET', KEYS[#KEYS])
  if type(mark) == 'table' then
    if not string.find(mark.err, 'WRONGTYPE', 1, true) then return mark end
    mark = false
  end
  --guard:epoch-is-compared  a script does nothing where the mark is not the one that the client knows
  if id ~= run then same = same and mark and string.find(mark, '/' .. run .. ' ', 1, true) end
  if not same then
    local found = string.match(info, 'master_replid:(%S+)') or '-'
    local marked, epoch = string.match(mark or '', '/([^@/]*)(@%d+) ')
    if marked == found then found = found .. epoch end
    return redis.error_reply('REDLOCKRUN ' .. (string.match(info, 'role:(%S+)') or '-') .. ' ' .. found)
  end
end
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
