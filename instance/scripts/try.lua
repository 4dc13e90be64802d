-- Try: tell which of the commands that a lock needs the server doesn't have, or the user may not send.
-- KEYS: a key that nobody sets, and the mark. Nothing is written: a command without its arguments fails, SET and
-- PEXPIRE find no key, and INCR no number.
-- Reply: the names of missing commands; of those that the user has no right to; and why the server would
-- refuse a vote now, because its memory is full or it takes no writes.
local missing, denied, key = {}, {}, KEYS[1]
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  local failure = type(reply) == 'table' and reply.err or ''
  if string.find(failure, 'nknown') or string.find(failure, 'not allowed from script') then
    missing[#missing + 1] = name
  elseif string.find(failure, 'NOPERM', 1, true) or string.find(failure, 'permission', 1, true) or string.find(failure, "can't run", 1, true) then
    denied[#denied + 1] = name
  end
  return failure
end
try('TIME')
try('GET', key)
try('GETRANGE', key, 0, 0)
try('MGET', key)
try('PTTL', key)
-- The first write is the one that a full server refuses.
local refuses = try('SET', key, '', 'XX', 'PX', 1)
try('DEL', key)
try('PEXPIRE', key, 1)
try('EXISTS', key)
-- Without its argument the server looks at nothing but the name.
local mark = redis.pcall('GET', KEYS[2])
if type(mark) == 'string' and string.find(mark, '@', 1, true) then try('INCR', KEYS[2]) else try('INCR') end
if not (string.find(refuses, 'OOM ') or string.find(refuses, 'MISCONF ') or string.find(refuses, 'NOREPLICAS ')) then refuses = '' end
return {table.concat(missing, ', '), table.concat(denied, ', '), refuses}
