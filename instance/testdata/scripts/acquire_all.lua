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
-- AcquireAll: set the keys of several locks if each is free or holds the replaced value, and
-- raise their counters to one token, in the same step. Otherwise change nothing.
-- KEYS: the locks, with fencing their counters and their sets' texts; and the mark, see
-- run.lua.
-- ARGV: as for acquire.lua, and before the value the number of locks. No tokens are reserved.
-- If a lock is in the way, the reply's token is its number, and the text and the ttl are those of its
-- key, as for acquire.lua.
--
-- Everything is read before anything is written. The four properties at the head of
-- acquire.lua hold for each of the locks: the token is the largest that a grant of any of them
-- alone would get, so it is larger than each counter was; it is no further ahead of the clock
-- than ARGV allows; each counter is raised to it before the first key is set; and a request
-- that is refused or fails has written nothing.
local n, value, replaced = tonumber(ARGV[#ARGV - 2]), ARGV[#ARGV - 1], ARGV[#ARGV]
local fenced, start = KEYS[2 * n] ~= nil, tonumber(ARGV[8])
local outcome, token, known, found, held, usual = 1, 0, {}, {}, {}, {}

if fenced then
  -- Nearly always each text is the one that this grant would write, as with acquire.lua.
  local texts = call('MGET', unpack(KEYS, 2 * n + 1, 3 * n))
  for i = 1, n do
    local failure, theirs
    known[i], found[i] = run, text
    --guard:each-set-is-compared  a lease on several keys is refused if any of them was last locked under another set
    if run == '' or texts[i] ~= text then failure, theirs, known[i], found[i] = readset(KEYS[2 * n + i]) end
    if failure then return failure end
    if theirs then return answer(2, theirs, 0, i) end
  end
end

local busy = redis.call('EXISTS', unpack(KEYS, 1, n)) > 0
for i = 1, busy and n or 0 do
  local there = redis.pcall('GET', KEYS[i])
  -- A key of another type is held, too.
  if type(there) == 'table' and not string.find(there.err, 'WRONGTYPE', 1, true) then return there end
  --guard:all-keys-free  of several keys none is set unless all are free
  if there and (replaced == '' or there ~= replaced) then
    return answer(0, type(there) == 'string' and string.sub(there, 1, 16384), redis.call('PTTL', KEYS[i]), i)
  end
  if there then outcome = 3 end
end

if fenced then
  local counters = call('MGET', unpack(KEYS, n + 1, 2 * n))
  for i = 1, n do
    local failure
    held[i] = counters[i] and string.find(counters[i], '^1%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') and tonumber(counters[i])
    -- One that isn't a usual number of microseconds may be lost, too large, or none.
    if not held[i] then held[i], failure = tokenin(KEYS[n + i]) end
    if failure then return failure end
    local counted = held[i] + 1
    -- As in counter.lua.
    --guard:each-made-from-clock  a counter that a transaction made goes on from the clock, also beside others
    usual[i] = counted >= 100000000000000 and (run == '' or run == known[i]) and known[i] ~= '?'
    --guard:each-counter-from-clock  a counter that was lost or is of another run goes on from the clock, also beside others
    if not usual[i] then
      counted = math.max(counted, clock + 1)
      if start <= most then counted = math.max(counted, start) end
    end
    --guard:above-each-counter  the token of a lease on several keys is above the counter of each
    token = math.max(token, counted)
  end
  --guard:all-bounded  no grant of several keys takes a counter further ahead of the clock than the client allows
  if token > most then
    return redis.error_reply(string.format('REDLOCKCOUNTER %.0f %.0f', token, clock))
  end
  for i = 1, n do
    local written = text
    if run == '' and known[i] ~= '?' then written = text .. known[i] end
    --guard:all-counters-at-token  each counter of a lease on several keys is raised to its token
    if usual[i] and written == found[i] then
      call('INCRBY', KEYS[n + i], string.format('%.0f', token - held[i]))
    else
      call('SET', KEYS[n + i], string.format('%.0f', token), 'PX', 6 * quarter)
      call('SET', KEYS[2 * n + i], written, 'PX', 6 * quarter)
    end
  end
end

for i = 1, n do
  --guard:each-key-expires  each key of a lease on several is gone after its TTL
  redis.call('SET', KEYS[i], value, 'PX', ARGV[3])
end
return answer(outcome, false, 0, token)
