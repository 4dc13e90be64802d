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
