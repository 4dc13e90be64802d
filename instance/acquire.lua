-- Acquire: set each lock's key that is free, and raise its counter with it.
-- KEYS: the locks, and behind them their counters. ARGV: nonce, ttl, counters' ttl,
-- set, and the locks' values.
--
-- An element of the answer is the token (above 0); or -3 less what PTTL says of
-- the key that stands in the way; or S and the set that locked it last.
--
-- The proof of the tokens' order needs three things of it: whoever is granted
-- gets a larger token than the counter held, whether or not the counter was
-- there; no grant leaves the counter as it was; and what is refused or fails
-- changes nothing. So all of a lock's that can fail comes before its first write.
local n, ttl, lasting, set = #KEYS / 2, ARGV[2], ARGV[3], ARGV[4]
local call, pcall = redis.call, redis.pcall
local texts, now = call('MGET', unpack(KEYS, n + 1)), call('TIME')
local clock = tonumber(now[1]) * 1000000 + tonumber(now[2])
local answer = {ARGV[1], clock}

local function acquire(i)
  local lock, key, text = KEYS[i], KEYS[n + i], texts[i]
  local token, theirs, failure
  if text then
    token, theirs = parse(text)
    if not token then return failed(theirs) end
  else
    -- MGET says the same of a counter that isn't there and of one that is no text.
    token, theirs, failure = counter(key)
    if failure then return failed(failure) end
  end
  if theirs and theirs ~= '' and theirs ~= set and not supersedes(set, theirs) then return 'S' .. theirs end
  if not token then
    -- A counter that was lost starts from the clock, which is later than the one
    -- that any lost counter started from, and has ticked more often than locks
    -- were granted.
    token = clock
  end
  token = token + 1
  if token > 9007199254740991 then return 'EREDLOCKCOUNTER the counter is at its end' end

  local done = pcall('SET', lock, ARGV[4 + i], 'NX', 'PX', ttl)
  if not done then
    return -3 - call('PTTL', lock)
  elseif done.err then
    return failed(done)
  end
  done = pcall('SET', key, decimal(token) .. ' ' .. set, 'PX', lasting)
  if done.err then
    call('DEL', lock)
    return failed(done)
  end
  return token
end

-- By the texts, and not by the keys, a lock that is twice in the list would get
-- the same token twice; but the second one finds the key taken.
for i = 1, n do answer[2 + i] = acquire(i) end
return answer
