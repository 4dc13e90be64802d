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
