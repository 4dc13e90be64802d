-- Mark: say for how long clients are known to have come to this run of the server by an
-- instance's name, and note the first time.
-- KEYS: mark. ARGV: nonce, and the run that this client found under the name before, ''
-- if none. The answer's text is the run, its token the mark's age in microseconds.
--
-- The mark is left anew in another run, as the votes before it may be lost; where the
-- clock was set back behind it; and for a client that found another run under the name,
-- for then the name has led elsewhere meanwhile. All is one step: of two clients that come
-- first the second one finds the mark.
local server, replication = redis.call('INFO', 'server'), redis.call('INFO', 'replication')
if not string.find(replication, 'role:master', 1, true) then return answer(0, false, 0, 0) end
local run = (string.match(server, 'run_id:(%S+)') or '') .. '/' .. (string.match(replication, 'master_replid:(%S+)') or '')
if run == '/' then return redis.error_reply('ERR a mark is not supported: INFO has no run_id and no master_replid') end
local clock = now[1] * 1000000 + now[2]
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false -- no mark, and replaced
end
local theirs, since = string.match(held or '', '^(%S+) (%d+)$')
since = tonumber(since)
if theirs ~= run or since > clock or ARGV[2] ~= '' and ARGV[2] ~= run then
  since = clock
  redis.call('SET', KEYS[1], run .. ' ' .. string.format('%.0f', clock))
end
return answer(1, run, 0, clock - since)
