-- Mark: return for how long clients have known this run of the server by an instance's name,
-- and note the first time.
-- KEYS: mark. ARGV: nonce; the run ID and the run of the server that this client found when
-- it last looked, '' both if none; 1 if that server answered in that run less than a minute
-- ago; the run ID of the server whose vote counted last with this client; how long ago that
-- was, at least, in microseconds; 1 if the server that it found kept its mark (quorum.Known).
--
-- The mark is
--
--   run ID/replication ID@epoch since was@epoch@since
--
-- The epoch is the mark's name: the time at which it was written. Since is that time, too,
-- unless the clock was set back behind it. Times are the server's, in microseconds. Was is
-- the previous replication ID, if the last paragraph keeps it there.
-- The reply's text is the run ID, /, and the run. Its token is the mark's age.
--
-- The mark is written anew, with another epoch, if it isn't of this run of the server,
-- because the votes before it may be lost. It is also written anew for a client for which
-- another server's vote counted after the mark was written, because then the name has led
-- elsewhere meanwhile. If that vote was earlier, as after a restart, the client has nothing
-- to add: what the votes from there were good for ends within a quarantine of the mark. All
-- this is one step, so that of two first clients the second one finds the mark.
--
-- A master also draws another replication ID for its first replica, and forgets nothing. The
-- epoch then continues. Invariant: it does so only if no promotion can have come between. So
-- the mark must be of the same process and contain exactly the replication ID that this
-- client knows; the client must have seen the server with that ID lately; and there must be
-- no second replication ID, which a promotion leaves behind for repl-backlog-ttl. A client
-- that cannot tell writes the mark anew, with the previous one beside it. The next client
-- that can tell puts that back.
local server, replication = redis.call('INFO', 'server'), redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then return answer(0, false, 0, 0) end
local process, id = string.match(server, 'run_id:(%S+)') or '', string.match(replication, 'master_replid:(%S+)') or ''
if not string.find(id, '[^0]') then id = '' end -- zeros are none
if process == '' and id == '' then return redis.error_reply('ERR a mark is not supported: INFO has no run_id and no master_replid') end
local promoted = string.find(string.match(replication, 'master_replid2:(%S+)') or '', '[^0]')
local clock = now[1] * 1000000 + now[2]
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false -- no mark, and replaced
end
local theirs, marked, epoch, since, was, before, from = string.match(held or '', '^([^/%s]*)/([^@%s]*)@(%d+) (%d+) ([^@%s]*)@(%d*)@(%d*)$')
since, from = math.min(tonumber(since) or clock, clock), math.min(tonumber(from) or clock, clock)
local known = string.match(ARGV[3], '^[^@]*')
local lately = process ~= '' and ARGV[2] == process and ARGV[4] == '1' and not promoted
-- A client tells of votes from elsewhere until a server has kept the mark that it was told.
--guard:evidence-is-told-until-kept  a client tells of another server's votes until the mark could be kept
local elsewhere = ARGV[5] ~= '' and ARGV[5] ~= process and not (ARGV[2] == process and ARGV[7] == '1')
--guard:mark-of-this-name  a client that had another server's votes meanwhile leaves the mark anew
--guard:mark-stays-for-late-clients  a client that learns of a restart late keeps the mark of the clients that learned of it first
local function clean(left) return not elsewhere or clock - left < tonumber(ARGV[6]) end
--guard:mark-of-this-run  a mark counts only in the run in which it was left
if theirs ~= process then
  theirs, was = nil, ''
elseif marked ~= id then
  --guard:epoch-survives-replicas  the epoch goes on where a master only drew another replication ID
  if clean(since) and lately and known == marked then
    was = ''
  elseif clean(since) and not promoted then
    --guard:epoch-survives-starters  the epoch goes on with a first replica though a client that starts came first
    theirs, was, before, from = nil, marked, epoch, since
  else
    theirs, was = nil, ''
  end
elseif not clean(since) then
  theirs, was = nil, ''
--guard:old-epoch-is-clean  an epoch that was replaced does not come back if a client had another server's votes since it began
elseif was ~= '' and not clean(from) then
  was = ''
elseif lately and was ~= '' and known == was then
  epoch, since, was = before, from, ''
end
--guard:mark-is-kept  a mark says when the first client came, not when the last one did
if not theirs then epoch, since = string.format('%.0f', clock), clock end
local mark = process .. '/' .. id .. '@' .. epoch .. ' ' .. string.format('%.0f', since) .. ' '
if was == '' then mark = mark .. '@@' else mark = mark .. was .. '@' .. before .. '@' .. string.format('%.0f', from) end
if mark ~= held then redis.call('SET', KEYS[1], mark) end
return answer(1, process .. '/' .. id .. '@' .. epoch, 0, clock - since)
