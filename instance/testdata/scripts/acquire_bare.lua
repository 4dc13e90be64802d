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
-- Acquire: set the lock's key if it is free or holds the replaced value, and raise the counter
-- in the same step.
-- KEYS: lock, with fencing counter and set's text; and the mark, see run.lua.
-- ARGV: nonce, run, ttl; with fencing a quarter of the counter's ttl, set, how many
-- microseconds the counter may be ahead of the clock, how many tokens to reserve, and where a
-- counter that starts from the clock should start; then value, and replaced value or ''. The
-- replaced value is the value itself if a transaction has set the key, but did not grant the
-- lock (transaction.go). If the key is gone then, it was deleted, and the request is refused.
-- Package quorum counts on that: it takes a delete that found the value as a sign that the
-- request can't set the key any more.
-- If the key is in the way, the reply's text is its value, false if it is of another type.
-- If the lock is granted, the reply's ttl is the number of reserved tokens, and its text is ''
-- if a transaction would not have granted it, because of the text beside the counter.
--
-- The proof of the tokens' order (quorum/internal/settlement) needs four properties.
--
-- A grant's token is larger than the counter was. INCR ensures that. If another number
-- takes the place of INCR's, it is larger, and the counter is set to it. This happens if
-- the counter was lost: then it starts from the clock. And it happens if the counter may be
-- from another run of the server, which may have restored an older one: then it starts from
-- the clock if that is ahead, or from where the request says, further ahead.
--
-- No grant's token is further ahead of the clock than ARGV allows. So the clock, once it
-- has advanced by as much, is above every token that a lost counter gave.
--
-- No grant leaves the counter as it was. It is raised before the key is set. If INCR fails,
-- or its number can't be used, the key is not set, and what a transaction set is deleted.
--
-- A request that is refused or fails changes nothing that matters. The set is compared
-- before the first write. A counter that was raised for nothing does no harm.
local value, replaced = ARGV[#ARGV - 1], ARGV[#ARGV]
local held = redis.pcall('GET', KEYS[1])
-- A key of another type is held, too.
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
-- without gives a reply for a request that isn't granted.
local function without(reply)
  --guard:failed-counter-frees-lock  a lock that a transaction has set isn't left set if it isn't granted
  if held == value and replaced == value then redis.call('DEL', KEYS[1]) end
  return reply
end

local failure, theirs, known, found, token, spare
if KEYS[3] then
  failure, theirs, known, found = readset(KEYS[3])
  if failure then return without(failure) end
  if theirs then return without(answer(2, theirs, 0, 0)) end
end
--guard:late-script-sets-nothing  a script that follows a transaction sets no key that was deleted meanwhile
local gone = not held and replaced == value
--guard:free-key-only  a key is set only where it is free
--guard:replace-compares  a replacement replaces only the value that it names
--guard:reserve-where-free  a request for reserved tokens is refused where the lock is held
if gone or held and (replaced == '' or held ~= replaced) then
  -- Its value says who is in the way; cut as in look.lua.
  return answer(0, type(held) == 'string' and string.sub(held, 1, 16384), redis.call('PTTL', KEYS[1]), 0)
end
if KEYS[3] then
  --guard:replace-counts  a replacement gets a larger token than the value that it replaces
  token, spare, failure = count(KEYS[2], KEYS[3], found, known, tonumber(ARGV[7]), tonumber(ARGV[8]))
  if failure then return without(failure) end
end
--guard:key-expires  a key whose holder died is gone after its TTL
redis.call('SET', KEYS[1], value, 'PX', ARGV[3])
return answer(held and held ~= value and 3 or 1, found and found ~= text and '' or false, spare or 0, token or 0)
