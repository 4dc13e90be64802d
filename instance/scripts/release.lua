-- Release of many locks: as release_one.lua, because a script's start costs a server as much as two
-- or three commands.
-- KEYS: the locks, and the wait queues of the first of them. ARGV: the values.
-- Reply: for each lock as in release_one.lua.
local n, reply, mine = #ARGV, {}, {}
local held = redis.call('MGET', unpack(KEYS, 1, n))
for i = 1, n do
  reply[i] = 0
  --guard:deletes-compare  of many locks, too, only the holders' keys are deleted
  if held[i] == ARGV[i] then
    reply[i], held[i] = 1, false
    mine[#mine + 1] = KEYS[i]
  end
end
if mine[1] then redis.call('DEL', unpack(mine)) end
-- Nearly always no process waits, which one EXISTS tells. Without the right to the queues nobody is
-- notified, and all poll: the release must not fail because of that.
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) ~= 'number' or waiting == 0 then return reply end
for i = 1, #KEYS - n do
  if not held[i] then reply[i] = reply[i] + 2 * notifynext(KEYS[n + i], KEYS[i]) end
end
return reply
