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
