-- Acquire: for each request, set the keys of its locks if each is free or holds the replaced
-- value, and raise their counters to one token, in the same step. Otherwise change nothing.
--
-- script.go joins it after run.lua, from which it has run, token.lua (tokenin), and counter.lua
-- (quarter, fenced, clock, most, text, readset).
--
-- KEYS: the locks of all requests; with fencing their counters, and their sets' texts; and the
-- mark, see run.lua.
-- ARGV: nonce, run, ttl, how many locks each request has; a quarter of the counters' ttl, set
-- ('' without fencing), how many microseconds a counter may be ahead of the clock, and how many
-- tokens each request reserves; then for each request its value, replaced value or '', and
-- where a counter that starts from the clock should start.
--
-- The reply is a list: the nonce, the clock in microseconds, and an element for each request.
-- The element is the token, 1 without fencing, of a usual grant. Otherwise it is a list with
-- the outcome, a text, a number, and another one:
--
--   {0, value, ttl, n}       the key of the request's lock n is in the way, false is the value
--                            if it is of another type
--   {1, false, spare, last}  granted, with reserved tokens: their number, and the last
--   {2, set, 0, n}           another set locked lock n last
--   {3, false, spare, last}  granted in place of the replaced value
--   {4, error, 0, 0}         failed
--
-- One script does many requests because the start of a script, and its look at the run, cost a
-- server as much as several locks. Each request is a step of its own: it sees what those before
-- it did, and its failure says nothing of theirs.
--
-- The proof of the tokens' order (quorum/internal/settlement) needs four properties, for each
-- of a request's locks.
--
-- A grant's token is larger than the counter was: it is the largest that a grant of any of the
-- locks alone would get, and that is the counter plus one, or larger. It is larger if the counter
-- was lost, which a number below 10^14 shows, too: every other one started from a clock, in
-- microseconds, and these passed 10^14 in March 1973. Then it starts from the clock. And if the
-- counter may be from another run of the server, which may have restored an older one: then it
-- starts from the clock if that is ahead, or from where the request says, further ahead.
--
-- No grant's token is further ahead of the clock than ARGV allows. So the clock, once it
-- has advanced by as much, is above every token that a lost counter gave.
--
-- No grant leaves the counter as it was. All are raised before the first key is set. If that
-- fails, no key is set.
--
-- A request that is refused changes nothing, because everything is read before anything is
-- written. One that fails changes nothing that matters: a counter that was raised for nothing
-- does no harm.
local n, wanted = tonumber(ARGV[4]), tonumber(ARGV[8])
local requests = (#ARGV - 8) / 3
local locks = n * requests
local pcall, max = redis.pcall, math.max
-- By a lock's number: the text that was found, the run in it, the counter, and whether the next
-- token may be the counter plus one.
local texts, runs, counters, trusted = {}, {}, {}, {}
if fenced then
  -- An error, because there is no right to one of the keys, is a table with none of the numbers:
  -- then each key is looked at, and costs only its own request.
  texts = pcall('MGET', unpack(KEYS, 2 * locks + 1, 3 * locks))
  counters = pcall('MGET', unpack(KEYS, locks + 1, 2 * locks))
end
-- Usually all keys are free, which one EXISTS tells. Without the right to it each is looked at.
-- touched has the locks of the requests that may have written: what was read before is old.
local busy, touched = pcall('EXISTS', unpack(KEYS, 1, locks)) ~= 0, {}

local function failed(failure) return {4, failure.err, 0, 0} end

-- tokenof returns the token for a request and how many tokens are reserved; or nil and the
-- element of one that isn't granted. from and to are the numbers of the request's locks.
local function tokenof(from, to, start)
  local token = 0
  for i = from, to do
    -- INCR looks closely at a counter that has the usual length, unless raise sets it. To Lua a
    -- text such as nan(12345678901) is a number, too, and neither above another one nor below it.
    local failure
    local held = counters[i] and #counters[i] == 16 and tonumber(counters[i])
    --guard:numbers-are-decimal  a text that is a number only to Lua is no counter
    if not (held and held >= 100000000000000) or texts[i] ~= text then held, failure = tokenin(KEYS[locks + i]) end
    if failure then return nil, failed(failure) end
    --guard:lost-counter-from-clock  a counter that was lost goes on from the clock, above every token that it gave
    --guard:older-counter-from-clock  a counter of another run, which may be an older copy, goes on from the clock
    trusted[i] = held >= 100000000000000 and (run == '' or run == runs[i])
    counters[i] = held
    --guard:token-above-counter  a grant's token is larger than the counter was
    local counted = held + 1
    if not trusted[i] then
      --guard:clock-never-lowers  a counter that is ahead of the clock isn't set back to it
      counted = max(counted, clock + 1)
      --guard:start-bounded  a counter starts no further ahead of the clock than the client allows
      if start <= most then counted = max(counted, start) end
    end
    --guard:above-each-counter  the token of a lease on several keys is above the counter of each
    if counted > token then token = counted end
  end
  --guard:all-bounded  a token that is too far ahead of the clock isn't given
  if token > most then
    return nil, {4, string.format('REDLOCKCOUNTER %.0f %.0f', token, clock), 0, 0}
  end
  -- Reserved tokens are below the clock, so that they never lift a counter above it, however
  -- fast they are used.
  --guard:reserved-below-clock  reserved tokens never take a counter above the clock
  return token, wanted > 0 and max(0, math.min(wanted, clock - token)) or 0
end

-- raise raises a lock's counter to a token, and writes both keys anew if the text changes. It
-- returns an error, or nothing.
local function raise(i, token)
  --guard:known-run-stays  a client that doesn't know the run keeps the run that others wrote
  local written = run == '' and text .. runs[i] or text -- text ends where the run goes
  local from, done = counters[i], nil
  if not trusted[i] or written ~= texts[i] then
    -- The counter first: the text vouches for it.
    from = token - 1
    --guard:counter-lives-on  every grant gives its counter the whole time to live again
    done = pcall('SET', KEYS[locks + i], string.format('%.0f', from), 'PX', 6 * quarter)
    if done.err then return done end
    done = pcall('SET', KEYS[2 * locks + i], written, 'PX', 6 * quarter)
    if done.err then return done end
  end
  --guard:counter-rises  each grant raises the counter to its token
  local by = token - from
  done = by == 1 and pcall('INCR', KEYS[locks + i]) or pcall('INCRBY', KEYS[locks + i], string.format('%.0f', by))
  if done == token then return end
  if type(done) ~= 'table' or string.find(done.err, 'not an integer', 1, true) then
    return redis.error_reply('REDLOCKCOUNTER the counter is not a token')
  end
  return done
end

-- acquire returns a request's element.
local function acquire(from, to, value, replaced, start)
  local outcome, token, spare = 1, 1, 0
  for i = from, fenced and to or 0 do
    --guard:each-request-reads-anew  a request sees what those before it in its script wrote, also those that failed halfway
    if touched[KEYS[i]] then texts[i], counters[i] = false, false end
    -- Nearly always the text is the one that this grant would write.
    runs[i] = run
    --guard:each-set-is-compared  a request is refused if any of its locks was last locked under another set
    if texts[i] ~= text then
      local failure, theirs
      failure, theirs, runs[i] = readset(KEYS[2 * locks + i])
      if failure then return failed(failure) end
      if theirs then return {2, theirs, 0, i - from + 1} end
    end
  end
  for i = from, to do
    if busy or touched[KEYS[i]] then
      local held = pcall('GET', KEYS[i])
      -- A key of another type is held, too.
      if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return failed(held) end
      --guard:free-key-only  a key is set only where it is free
      --guard:all-keys-free  of several keys none is set unless all are free
      --guard:replace-compares  a replacement replaces only the value that it names
      --guard:reserve-where-free  a request for reserved tokens is refused where the lock is held
      if held and (replaced == '' or held ~= replaced) then
        local left = pcall('PTTL', KEYS[i])
        if type(left) == 'table' then return failed(left) end
        -- Its value says who is in the way; cut as in look.lua.
        --guard:values-in-the-way-are-cut  a long value in one lock's place doesn't fail the requests for others
        return {0, type(held) == 'string' and string.sub(held, 1, 16384), left, i - from + 1}
      end
      if held then outcome = 3 end
    end
    --guard:two-requests-one-lock  of two requests of one script for a lock only one is granted
    if requests > 1 then touched[KEYS[i]] = true end
  end
  if fenced then
    token, spare = tokenof(from, to, start)
    if not token then return spare end
    --guard:reserved-counted  reserved tokens are counted, so that nobody else gets them
    token = token + spare
    for i = from, to do
      --guard:all-counters-at-token  each counter of a lease on several keys is raised to its token
      local failure = raise(i, token)
      --guard:failed-counter-sets-nothing  a key isn't set if its counter could not be raised
      if failure then return failed(failure) end
    end
  end
  for i = from, to do
    --guard:key-expires  a key whose holder died is gone after its TTL
    local done = pcall('SET', KEYS[i], value, 'PX', ARGV[3])
    if done.err then return failed(done) end
  end
  if outcome == 1 and spare == 0 then return token end
  return {outcome, false, spare, token}
end

local reply = {ARGV[1], clock}
for r = 1, requests do
  local at = 6 + 3 * r
  reply[2 + r] = acquire((r - 1) * n + 1, r * n, ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]))
end
return reply
