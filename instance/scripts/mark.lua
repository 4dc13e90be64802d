-- Mark: find the mark, or leave one. It is a string without expiry:
--
--   ID@epoch set
--
-- The ID is the server's replication ID, or its run ID where that is hidden. The epoch is the time at
-- which the mark was written, by the server's clock, in microseconds. The set is that of the clients'
-- instances (quorum/wire.Set). The whole text names the run: every request compares it.
--
-- KEYS: the mark. ARGV: the run ID and the epoch that this client found when it last looked; the run
-- ID of the server whose vote counted last with this client, '' if none; how long ago that was, at
-- least, in microseconds; the set, or '' for a client that doesn't compare it.
-- Reply: the run ID and the replication ID; then 0 and '' on a server that is no master, 1 and the
-- mark, 2 and the set in the mark, if this client's set must not follow it, or 3 and '' where an earlier
-- version has left a mark; and the mark's age.
--
-- The mark is written anew, with another epoch, where
--   - the ID is another: another run, whose earlier votes may be lost. A master also draws another
--     replication ID for its first replica, and forgets nothing, but a promotion can look the same;
--   - another server's vote counted for this client after the mark was written: the name has led elsewhere.
--     If that vote was earlier, as after a restart, what it was good for ends within a quarantine of the mark;
--   - this client knows a later one of the same process: other data is there, as after SWAPDB;
--   - the clock was set back behind the epoch: the mark's age would be unknown.
-- All this is one step, so that of two first clients the second one finds the mark.
--
-- Clients of earlier versions of this library write "process/ID@epoch since" under the same key. While that
-- is there no client of this version has a vote, until an operator deletes it.
local server, replication = redis.call('INFO', 'server'), redis.call('INFO', 'replication')
local process, id = string.match(server, 'run_id:(%S+)') or '', string.match(replication, 'master_replid:(%S+)') or ''
if not string.find(id, '[^0]') then id = '' end -- zeros are none
if not string.find(replication, 'role:master', 1, true) then return {process, id, 0, '', 0} end
if process == '' and id == '' then return redis.error_reply('ERR a mark is not supported: INFO has no run_id and no master_replid') end
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false -- no mark, and replaced
end
--guard:older-version-is-refused  clients of this version and of an earlier one don't vote at once
if string.find(held or '', '^[^@ ]*/[^@ ]*@%d+ %d+$') then return {process, id, 3, '', 0} end
local marked, epoch, set = string.match(held or '', '^([^@ /]*)@(%d+) (.*)$')
set = set or ''

-- supersedes reports whether a client with the set mine takes over from the set theirs: the same name
-- and a higher version. Versions up to 2^64-1 are more than Lua's numbers hold, so texts are compared.
local function supersedes(mine, theirs)
  local pattern = '^([^@]*)@(%d+) '
  local theirname, their = string.match(theirs, pattern)
  local myname, my = string.match(mine, pattern)
  if not their or not my or theirname ~= myname then return false end
  if #my ~= #their then return #my > #their end
  return my > their
end

-- Before the run is compared, so that a restart doesn't let another set in.
if ARGV[5] ~= '' and set ~= ARGV[5] then
  --guard:set-is-compared  a client with another set of instances is refused
  if set ~= '' and not supersedes(ARGV[5], set) then return {process, id, 2, set, 0} end
  set = ARGV[5]
end
-- A client tells of votes from elsewhere until a server has kept the mark that it was told.
local elsewhere = ARGV[3] ~= '' and ARGV[3] ~= process and not (ARGV[1] == process and ARGV[2] == epoch)
-- A client that learns of a restart late keeps the mark of the clients that learned of it first.
--guard:mark-of-this-name  a client that had another server's votes meanwhile leaves the mark anew
local anew = elsewhere and clock - (tonumber(epoch) or clock) >= tonumber(ARGV[4])
-- A client that knows a later mark of this process doesn't trust an earlier one.
anew = anew or ARGV[1] == process and (tonumber(ARGV[2]) or 0) > (tonumber(epoch) or 0)
if id == '' then id = process end
-- The mark says when the first client came, not the last one.
--guard:mark-of-this-run  a mark counts only in the run in which it was left
if marked ~= id or anew or tonumber(epoch) > clock then epoch = string.format('%.0f', clock) end
local mark = id .. '@' .. epoch .. ' ' .. set
if mark ~= held then redis.call('SET', KEYS[1], mark) end
return {process, string.match(replication, 'master_replid:(%S+)') or '', 1, mark, clock - tonumber(epoch)}
