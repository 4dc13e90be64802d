-- Mark: return for how long clients have known this run of the server by an instance's name,
-- and note the first time.
-- KEYS: mark. ARGV: nonce; the run ID and the epoch that this client found when it last
-- looked; the run ID of the server whose vote counted last with this client, '' if none; how
-- long ago that was, at least, in microseconds (wire.Known).
--
-- The mark is
--
--   run ID/replication ID@epoch since
--
-- The epoch is the mark's name: the time at which it was written. Since is that time, too,
-- unless the clock was set back behind it. Times are the server's, in microseconds.
-- The reply's text is the mark without since. Its token is the mark's age.
--
-- Another run ID or another replication ID is another run, and the votes before it may be
-- lost. So the mark is then written anew, with another epoch. A master also draws another
-- replication ID for its first replica, and forgets nothing; but neither the server nor any
-- client can be sure of that, because a promotion looks the same once the server has dropped
-- the trace of it.
--
-- The mark is also written anew for a client for which another server's vote counted after
-- the mark was written, because then the name has led elsewhere meanwhile. If that vote was
-- earlier, as after a restart, the client has nothing to add: what the votes from there were
-- good for ends within a quarantine of the mark. All this is one step, so that of two first
-- clients the second one finds the mark.
local server, replication = redis.call('INFO', 'server'), redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then return answer(0, false, 0, 0) end
local process, id = string.match(server, 'run_id:(%S+)') or '', string.match(replication, 'master_replid:(%S+)') or ''
if not string.find(id, '[^0]') then id = '' end -- zeros are none
if process == '' and id == '' then return redis.error_reply('ERR a mark is not supported: INFO has no run_id and no master_replid') end
local clock = now[1] * 1000000 + now[2]
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false -- no mark, and replaced
end
local run = process .. '/' .. id
local marked, epoch, since = string.match(held or '', '^([^@%s]*)@(%d+) (%d+)$')
since = math.min(tonumber(since) or clock, clock)
-- A client tells of votes from elsewhere until a server has kept the mark that it was told.
--guard:evidence-is-told-until-kept  a client tells of another server's votes until the mark could be kept
local elsewhere = ARGV[4] ~= '' and ARGV[4] ~= process and not (ARGV[2] == process and ARGV[3] == epoch)
--guard:mark-of-this-name  a client that had another server's votes meanwhile leaves the mark anew
--guard:mark-stays-for-late-clients  a client that learns of a restart late keeps the mark of the clients that learned of it first
local led = elsewhere and clock - since >= tonumber(ARGV[5])
--guard:mark-of-this-run  a mark counts only in the run in which it was left
--guard:mark-is-kept  a mark says when the first client came, not when the last one did
if marked ~= run or led then epoch, since = string.format('%.0f', clock), clock end
local mark = run .. '@' .. epoch
local text = mark .. ' ' .. string.format('%.0f', since)
if text ~= held then redis.call('SET', KEYS[1], text) end
return answer(1, mark, 0, clock - since)
