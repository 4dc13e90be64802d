-- Try: tell which of the commands that a lock's scripts call the server doesn't have, or the
-- user may not send.
-- KEYS: a key that nobody sets. ARGV: nonce.
--
-- The reply is a list: the nonce, and the names of missing commands; PEXPIRE again, if only the
-- right to it is missing; and why the server would refuse a vote now, because its memory is full
-- or it takes no writes. Nothing is written: a command without its arguments fails, and PEXPIRE
-- and SET find no key.
local missing = {}
for name in string.gmatch('TIME GET MGET SET DEL PTTL PEXPIRE INCR INCRBY', '%S+') do
  local reply = redis.pcall(name)
  local failure = type(reply) == 'table' and reply.err or ''
  if string.find(failure, 'nknown') or string.find(failure, 'not allowed from script') then missing[#missing + 1] = name end
end
-- The first write of a script is the one that a full server refuses.
local vote = redis.pcall('SET', KEYS[1], '', 'XX', 'PX', 1)
local refuses = type(vote) == 'table' and vote.err or ''
if not (string.find(refuses, 'OOM ') or string.find(refuses, 'MISCONF ') or string.find(refuses, 'NOREPLICAS ')) then refuses = '' end
local reply = redis.pcall('PEXPIRE', KEYS[1], 1)
local denied = type(reply) == 'table' and string.find(reply.err, 'run th[ei]') and 'PEXPIRE' or ''
return {ARGV[1], table.concat(missing, ', '), denied, refuses}
