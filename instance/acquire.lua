-- Acquire: set each lock's key that is free, and raise its counter with it.
-- KEYS: the locks, behind them their counters, and behind those their sets' texts; then
-- the mark, where run.lua wants it.
-- ARGV: nonce, run, ttl, a quarter of the counters' ttl, set, how many microseconds a
-- counter may be ahead of the clock, and the locks' values.
--
-- The answer is a list: the nonce, the clock in microseconds, and an element for each
-- lock: the token (above 0); or -3 less what PTTL says of the key that stands in the
-- way; or S and the set that locked it last; or E and an error, which says nothing of
-- the other locks. That many locks are done in one go is because what it costs a server
-- to begin a script is as much as two or three of its commands, and each argument and
-- each element of an answer is as much as half of one.
--
-- The proof of the tokens' order (round.go in package quorum) needs four things of it.
--
-- Whoever is granted gets a larger token than the counter held. INCR sees to that; and
-- if the number that it gives is replaced, then by a larger one, for which the counter
-- is set to it. That is done where the counter was lost, which shows by INCR's 1: it goes
-- on from the clock. And it is done where the counter isn't known to be of this run of the
-- server, which may have come up with an older one: it goes on from the clock if that is
-- ahead.
--
-- Nobody is granted a token that is further ahead of the clock than ARGV says. Thus the
-- clock, once it has gone on by as much, is above all that a lost counter ever gave.
--
-- No grant leaves the counter as it was: the lock's key isn't left set where INCR fails,
-- or where what INCR gave can't be used.
--
-- What is refused or fails changes nothing that matters. The set is looked at before the
-- first write. A counter that was raised for nothing does no harm; one that came into
-- being by it, and would pass for one that wasn't lost, is deleted.
--
-- First those of which all is as it should be. Nothing is done for them that isn't needed,
-- and no function made, as that costs as much as a command.
local n, ttl = (#KEYS - #KEYS % 3) / 3, ARGV[3]
local texts = call('MGET', unpack(KEYS, 2 * n + 1, 3 * n))
local answer, rest = {ARGV[1], clock}, false
for i = 1, n do
  if texts[i] ~= text then
    rest = rest or {}
    rest[i] = false
  else
    -- A lock that is twice in the list finds its key taken the second time.
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
