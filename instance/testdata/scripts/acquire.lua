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
-- A resource's counter is two keys in the lock's slot.
--
-- {resource}:redlock is the counter itself: the last token in decimal. One INCR counts.
--
-- {resource}:redlock:set is a text with the circumstances of the last grant:
--
--   prod@7 N=5 Q=3 MaxTTL=30s 21600000/82999 5f3c0e...
--   the set                   quarter/period the run
--
-- The set is quorum.Set.String, which contains no slash. The run is that of the server, as
-- the client knew it, with the epoch (see run.lua). If the client knew none, the run in the
-- text stays. The quarter is a fourth of the time, in milliseconds, for which a counter
-- outlives its last grant. The period is the server's clock divided by the quarter. 0/0 is
-- no period: the text is from a Restore, or from a transaction that made the counter (start.go).
-- That one has ? in place of a run. Neither vouches for the counter.
--
-- A grant that finds the text that it would write writes only the counter. That is nearly
-- every grant, and takes no script (transaction.go). The first grant in each period finds
-- another text: it writes both keys anew with a TTL of six quarters. A period is one
-- quarter long, so every grant leaves both keys at least five: the four that were promised,
-- and one for the run time of a script, because the server dates its writes by the script's
-- start. A transaction that makes both keys gives them six quarters, too. The period and the
-- TTLs follow the same clock, so its jumps do no harm. Only a grant ever shortens the TTL of
-- either key.
--
-- most is what a grant may count up to: as far ahead of the clock as the client allows, and
-- no further than Lua's numbers are exact, 2^53-1. The tokens' order depends on it, because
-- a lost counter starts from the clock. It also keeps a counter that somebody else wrote
-- from spreading to other servers.
local call, pcall, quarter, set = redis.call, redis.pcall, ARGV[4], ARGV[5]
local clock, span = now[1] * 1000000 + now[2], quarter * 1000
--guard:grant-bounded  no grant takes a counter further ahead of the clock than the client allows
local most = math.min(clock + ARGV[6], 9007199254740991)
--guard:run-is-written  the text beside a counter names the run of its last grant
local text = set .. ' ' .. quarter .. '/' .. (clock - clock % span) / span .. ' ' .. run

-- supersedes reports whether a client with the set mine takes over from the set theirs: the
-- same name and a higher version. Versions go up to 2^64-1, which is more than Lua's numbers
-- hold. So it compares the texts: the longer one is larger, and of two equally long ones the
-- one later in the alphabet.
local function supersedes(mine, theirs)
  local pattern = '^([^@]*)@(%d+) N=%d+ Q=%d+ MaxTTL=[%w.]+$'
  local theirname, their = string.match(theirs, pattern)
  local myname, my = string.match(mine, pattern)
  if not their or not my or theirname ~= myname then return false end
  if #my ~= #their then return #my > #their end
  return my > their
end

-- readset reads the text of a set's key. It returns an error; or the other set, if this one
-- must not lock after it; or neither, the run, '' if none is known, and the text.
local function readset(key)
  local found = pcall('GET', key)
  if type(found) == 'table' then return found end
  if not found then return nil, nil, '' end
  local theirs, known = string.match(found, '^([^/]*) %d+/%d+ (.*)$')
  -- These have some 250 bytes. A longer text is not from this library, and too long a reply
  -- would cost the connection and the other replies on it.
  --guard:long-texts-cut  a long text beside one lock's counter doesn't fail the commands of other locks
  if not theirs or #found > 512 then
    return redis.error_reply('REDLOCKCOUNTER the text beside the counter is not a set, a period and a run')
  end
  --guard:set-is-compared  a client with another set of instances is refused
  if theirs ~= set and not supersedes(set, theirs) then return nil, theirs end
  return nil, nil, known, found
end

-- count raises the counter for a grant, and writes the text if it changed. found is the text
-- that was found, known the run in it. wanted is how many tokens to reserve after the first,
-- and start is where a counter that starts from the clock should start.
-- It returns the last token and how many were reserved; or nil, nil and an error.
--
-- A counter below 10^14 was lost. Every other one started from a clock, in microseconds, and
-- these passed 10^14 in March 1973. It may have been counted since it was lost, by a
-- transaction that granted nothing (transaction.go), so 1 is not the only sign. One that a
-- transaction made anew looks as if it was not lost, but its text has ? in place of a run.
--
-- Reserved tokens are below the clock, so that they never lift a counter above it, however
-- fast they are used.
local function count(counter, key, found, known, wanted, start)
  --guard:counter-rises  each grant raises the counter
  local counted = pcall('INCR', counter)
  if type(counted) ~= 'number' then
    if string.find(counted.err, 'not an integer') or string.find(counted.err, 'overflow') then
      return nil, nil, redis.error_reply('REDLOCKCOUNTER the counter is not a whole number')
    end
    return nil, nil, counted
  end

  local token, written = counted, text
  --guard:lost-counter-from-clock  a counter that was lost goes on from the clock, above every token that it gave
  --guard:older-counter-from-clock  a counter of another run, which may be an older copy, goes on from the clock
  --guard:made-counter-from-clock  a counter that a transaction made, perhaps late, goes on from the clock
  if counted < 100000000000000 or run ~= '' and run ~= known or known == '?' then
    --guard:start-bounded  a counter starts no further ahead of the clock than the client allows
    if start > most then start = 0 end
    --guard:clock-never-lowers  a counter that is ahead of the clock isn't set back to it
    token = math.max(token, clock + 1, start)
  end
  if counted < 1 or token > most then
    -- As it was found. If INCR returned 1, there was none, or it was 0.
    --guard:counter-undone  a counter that gives no token is left as it was found
    if counted == 1 then pcall('DEL', counter) else pcall('DECR', counter) end
    if counted < 1 then return nil, nil, redis.error_reply('REDLOCKCOUNTER the counter is no token') end
    return nil, nil, redis.error_reply(string.format('REDLOCKCOUNTER %.0f %.0f', token, clock))
  end

  --guard:reserved-below-clock  reserved tokens never take a counter above the clock
  local spare = math.max(0, math.min(wanted, clock - token))
  --guard:known-run-stays  a client that doesn't know the run keeps the run that others wrote
  if run == '' and known ~= '?' then written = text .. known end -- text ends where the run goes
  if token == counted and written == found then
    if spare == 0 then return token, 0 end
    --guard:reserved-counted  reserved tokens are counted, so that nobody else gets them
    local done = pcall('INCRBY', counter, spare)
    if type(done) == 'number' then return done, spare end
    return nil, nil, done -- a counter raised for nothing does no harm
  end
  token = token + spare

  -- The counter first: the text vouches for it.
  --guard:counter-is-written  the counter keeps the token that was granted
  --guard:reserved-in-the-counter  the counter keeps the reserved tokens, so that nobody else gets them
  --guard:counter-lives-on  every grant gives its counter the whole time to live again
  local done = pcall('SET', counter, string.format('%.0f', token), 'PX', 6 * quarter)
  if not done.err then done = pcall('SET', key, written, 'PX', 6 * quarter) end
  if not done.err then return token, spare end
  if counted == 1 then call('DEL', counter) end
  return nil, nil, done
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
