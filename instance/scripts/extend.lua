-- Extend: set the TTL of each lock's key that holds its value. A lease on several keys has one
-- value, and if one of them is lost the others aren't extended: the lease is lost here, and they
-- would only keep other clients out for longer.
-- KEYS: the locks; and the mark, see run.lua. ARGV: nonce, run, the locks' values, and their
-- ttls.
--
-- The reply is a list: the nonce, the clock in microseconds, and for each lock 1, or 0 if
-- a key of the lease is gone or holds something else.
local n = (#ARGV - 2) / 2
local reply = {ARGV[1], now[1] * 1000000 + now[2]}
local held = redis.call('MGET', unpack(KEYS, 1, n))
local lost = {} -- the values of leases of which a key is lost
for i = 1, n do
  --guard:extend-compares  only the holder's key is extended
  --guard:extend-sets-nothing  an extension doesn't set a key that is gone
  if held[i] ~= ARGV[2 + i] then lost[ARGV[2 + i]] = true end
end
for i = 1, n do
  reply[2 + i] = 0
  --guard:extend-all-or-none  of several keys none is extended where one of them is lost
  if not lost[ARGV[2 + i]] then
    redis.call('PEXPIRE', KEYS[i], ARGV[2 + n + i])
    reply[2 + i] = 1
  end
end
return reply
