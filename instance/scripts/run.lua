-- Only the server that the client knows does anything, in the run that the client knows. The run is
-- the text of the mark, which is the last key then, or a bare replication ID. A restarted or a
-- promoted server may have a copy of the mark, so the replication ID is compared, too: a master
-- draws a new one at its start and at its promotion. The set in the mark isn't compared, so that a
-- lease outlives a change of the set.
-- ARGV[1]: the run, or '' to do without.
local call, pcall, run = redis.call, redis.pcall, ARGV[1]
if run ~= '' then
  local info, id = call('INFO', 'replication'), string.match(run, '^[^@]*')
  --guard:run-is-compared  a script does nothing in another run than it was sent for
  local same = string.find(info, 'role:master', 1, true) and string.find(info, 'master_replid:' .. id, 1, true)
  local mark = id ~= run and pcall('GET', KEYS[#KEYS])
  if type(mark) == 'table' then
    if not string.find(mark.err, 'WRONGTYPE', 1, true) then return mark end
    mark = false
  end
  --guard:epoch-is-compared  a script does nothing where the mark is not the one that the client knows
  if id ~= run then same = same and mark and string.match(mark, '^[^ ]*') == string.match(run, '^[^ ]*') end
  if not same then
    return redis.error_reply('REDLOCKRUN ' .. (string.match(info, 'role:(%S+)') or '-') .. ' ' ..
      (string.match(info, 'master_replid:(%S+)') or '-') .. ' ' .. (mark or '-'))
  end
end
