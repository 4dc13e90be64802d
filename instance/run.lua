-- Nothing is done by another server than the one that was asked, by another run of it, or
-- by a replica, writable or not: the replication ID is a master's own from its start or
-- its promotion on. It is compared in the script, as nothing else is one step with what
-- the script does, whatever stands between the client and the server.
local run = ARGV[2]
if run ~= '' then
  local info = redis.call('INFO', 'replication')
  if not string.find(info, 'role:master', 1, true) or not string.find(info, 'master_replid:' .. run, 1, true) then
    return redis.error_reply('REDLOCKRUN ' .. (string.match(info, 'role:(%S+)') or '-') .. ' ' .. (string.match(info, 'master_replid:(%S+)') or '-'))
  end
end
