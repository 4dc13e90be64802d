-- Nothing is done by another server than the one that was asked, by another run of it, or
-- by a replica, writable or not: the replication ID is a master's own from its start or
-- its promotion on. It is compared in the script, as nothing else is one step with what
-- the script does, whatever stands between the client and the server.
--
-- Where the run has an epoch, the last key is the mark (see mark.lua), which must name the
-- replication ID and the epoch. Thus no client is granted anything here once the mark is
-- gone with the data, or was left anew because the name had led elsewhere.
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
