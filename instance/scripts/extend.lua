-- Extend: set the TTL of each lock's key that holds its value. A lease on several keys has one
-- value, and if one of them is lost the others aren't extended: the lease is lost here, and they
-- would only keep other clients out for longer.
-- KEYS: the locks; and the mark, see run.lua. ARGV: run, the locks' values, and their ttls.
-- Reply: the clock, and for each lock 1, or 0 if a key of the lease is gone or holds something else.
local n, reply, lost = (#ARGV - 1) / 2, {clock}, {}
local held = call('MGET', unpack(KEYS, 1, n))
for i = 1, n do
  --guard:extend-compares  only the holder's key is extended
  if held[i] ~= ARGV[1 + i] then lost[ARGV[1 + i]] = true end
end
for i = 1, n do
  reply[1 + i] = 0
  if not lost[ARGV[1 + i]] then
    call('PEXPIRE', KEYS[i], ARGV[1 + n + i])
    reply[1 + i] = 1
  end
end
return reply
