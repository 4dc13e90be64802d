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
