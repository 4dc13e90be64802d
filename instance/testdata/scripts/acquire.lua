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
-- no period: the text is from a Restore.
--
-- A grant that finds the text that it would write writes only the counter. That is nearly
-- every grant, so the text is compared before it is parsed. The first grant in each period
-- finds another text: it writes both keys anew with a TTL of six quarters. A period is one
-- quarter long, so every grant leaves both keys at least five: the four that were promised,
-- and one for the run time of a script, because the server dates its writes by the script's
-- start. The period and the TTLs follow the same clock, so its jumps do no harm. Only a
-- grant ever shortens the TTL of either key.
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
-- Acquire: set each lock's key that is free, and raise its counter in the same step.
-- KEYS: the locks, their counters, their sets' texts; and the mark, see run.lua.
-- ARGV: nonce, run, ttl, a quarter of the counters' ttl, set, how many microseconds a
-- counter may be ahead of the clock, and the locks' values.
--
-- The reply is a list: the nonce, the clock in microseconds, and an element for each lock.
-- The element is the token (above 0); or -3 minus the PTTL of the key that is held; or S
-- and the set under which the lock was last used; or E and an error, which says nothing of
-- the other locks. One script does many locks because the start of a script costs a server
-- as much as two or three commands, and each argument and each element of a reply as much
-- as half a command.
--
-- The proof of the tokens' order (round.go in package quorum) needs four properties.
--
-- A grant's token is larger than the counter was. INCR ensures that. If another number
-- takes the place of INCR's, it is larger, and the counter is set to it. This happens if
-- the counter was lost (INCR returns 1): then it starts from the clock. And it happens if
-- the counter may be from another run of the server, which may have restored an older one:
-- then it starts from the clock if that is ahead.
--
-- No grant's token is further ahead of the clock than ARGV allows. So the clock, once it
-- has advanced by as much, is above every token that a lost counter gave.
--
-- No grant leaves the counter as it was. If INCR fails, or its number can't be used, the
-- lock's key is deleted again.
--
-- A request that is refused or fails changes nothing that matters. The set is compared
-- before the first write. A counter that was raised for nothing does no harm. A counter
-- that INCR created is deleted, because it would look like one that was never lost.
--
-- First the locks for which everything is normal, with no more commands than needed, and
-- without functions, because to make one costs as much as a command.
local n, ttl = (#KEYS - #KEYS % 3) / 3, ARGV[3]
local texts = call('MGET', unpack(KEYS, 2 * n + 1, 3 * n))
local answer, rest = {ARGV[1], clock}, false
for i = 1, n do
  if texts[i] ~= text then
    rest = rest or {}
    rest[i] = false
  else
    -- If a lock is in the list twice, its key is held the second time.
    --guard:free-key-only  a key is set only where it is free
    --guard:key-expires  a key whose holder died is gone after its TTL
    local done = pcall('SET', KEYS[i], ARGV[6 + i], 'NX', 'PX', ttl)
    if not done then
      answer[2 + i] = -3 - call('PTTL', KEYS[i])
    elseif done.err then
      answer[2 + i] = 'E' .. done.err
    else
      --guard:counter-rises  each grant raises the counter
      local token = pcall('INCR', KEYS[n + i])
      if type(token) == 'number' and token > 1 and token <= most then
        answer[2 + i] = token
      else
        rest = rest or {}
        rest[i] = token
      end
    end
  end
end
if not rest then return answer end
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
-- For grants that don't find the text that they would write.

-- readset reads the text of a set's key. It returns an error; or the other set, if this one
-- must not lock after it; or neither, and the run, '' if none is known.
local function readset(key, found)
  if not found then
    -- MGET returns the same for a missing key and for one that is no string.
    found = pcall('GET', key)
    if type(found) == 'table' then return found end
    if not found then return nil, nil, '' end
  end
  local theirs, known = string.match(found, '^([^/]*) %d+/%d+ (.*)$')
  -- These have some 250 bytes. A longer text is not from this library, and is not repeated
  -- in a reply that contains other locks' votes.
  --guard:long-texts-cut  a long text beside one lock's counter doesn't fail the commands of other locks
  if not theirs or #found > 512 then
    return redis.error_reply('REDLOCKCOUNTER the text beside the counter is not a set, a period and a run')
  end
  --guard:set-is-compared  a client with another set of instances is refused
  if theirs ~= set and not supersedes(set, theirs) then return nil, theirs end
  return nil, nil, known
end

-- count raises the counter for a grant, and writes the text if it changed. found is the text
-- that was found, known the run in it. counted is INCR's reply, if it was sent already.
-- wanted is how many tokens to reserve after the first; nil for none. It returns the last
-- token and how many were reserved; or nil, nil and an error.
--
-- Reserved tokens are below the clock, so that they never lift a counter above it, however
-- fast they are used.
local function count(counter, key, found, known, counted, wanted)
  counted = counted or pcall('INCR', counter)
  if type(counted) ~= 'number' then
    if string.find(counted.err, 'not an integer') or string.find(counted.err, 'overflow') then
      return nil, nil, redis.error_reply('REDLOCKCOUNTER the counter is not a whole number')
    end
    return nil, nil, counted
  end

  local token, written = counted, text
  --guard:lost-counter-from-clock  a counter that was lost goes on from the clock, above every token that it gave
  --guard:older-counter-from-clock  a counter of another run, which may be an older copy, goes on from the clock
  --guard:clock-never-lowers  a counter that is ahead of the clock isn't set back to it
  if (counted == 1 or run ~= '' and run ~= known) and token <= clock then token = clock + 1 end
  if counted < 1 or token > most then
    -- As it was found. If INCR returned 1, there was none, or it was 0.
    --guard:counter-undone  a counter that gives no token is left as it was found
    if counted == 1 then pcall('DEL', counter) else pcall('DECR', counter) end
    if counted < 1 then return nil, nil, redis.error_reply('REDLOCKCOUNTER the counter is no token') end
    return nil, nil, redis.error_reply(string.format('REDLOCKCOUNTER %.0f %.0f', token, clock))
  end

  --guard:reserved-below-clock  reserved tokens never take a counter above the clock
  local spare = math.max(0, math.min(wanted or 0, clock - token))
  --guard:known-run-stays  a client that doesn't know the run keeps the run that others wrote
  if run == '' then written = text .. known end -- text ends where the run goes
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
-- The rest of the locks, with the properties in acquire.lua. counted is false for a lock
-- that was not touched, or INCR's reply, if the key was set and the text was right.
local function settle(i, counted)
  local lock, known = KEYS[i], run
  if not counted then
    local failure, theirs
    failure, theirs, known = readset(KEYS[2 * n + i], texts[i])
    if failure then return 'E' .. failure.err end
    if theirs then return 'S' .. theirs end
    --guard:free-key-only-settle  a key is set only where it is free, also if its counter needs another text
    --guard:key-expires-settle  a key whose holder died is gone after its TTL, also if its counter needs another text
    local done = pcall('SET', lock, ARGV[6 + i], 'NX', 'PX', ttl)
    if not done then return -3 - call('PTTL', lock) end
    if done.err then return 'E' .. done.err end
  end
  local token, _, failure = count(KEYS[n + i], KEYS[2 * n + i], texts[i], known, counted)
  if token then return token end
  --guard:failed-counter-frees-lock  a lock whose counter can't be raised isn't left set
  call('DEL', lock)
  return 'E' .. failure.err
end

for i = 1, n do
  if rest[i] ~= nil then answer[2 + i] = settle(i, rest[i]) end
end
return answer
