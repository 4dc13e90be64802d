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
