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
-- Extend: set the TTL of the lock's key, if it holds the value.
-- KEYS: lock; and the mark, see run.lua. ARGV: nonce, run, value, ttl.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
--guard:extend-compares  only the holder's key is extended
--guard:extend-sets-nothing  an extension doesn't set a key that is gone
if held ~= ARGV[3] then
  return answer(0, false, 0, 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return answer(1, false, 0, 0)
