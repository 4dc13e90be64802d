-- Release: delete each lock's key that holds its value. For the first of the locks, notify
-- a waiter if the key is free then.
-- KEYS: the locks, and the wait queues of the first of them. ARGV: nonce, and the locks'
-- values.
--
-- The reply is a list: the nonce, the clock in microseconds, and a number for each lock. The
-- number is 1, or 0 if the key was gone or held something else; plus 2 if a waiter was notified.
--
-- One script does many locks because the start of a script costs a server as much as two or
-- three commands.
local n = #ARGV - 1
local reply, mine = {ARGV[1], now[1] * 1000000 + now[2]}, {}
local held = redis.call('MGET', unpack(KEYS, 1, n))
for i = 1, n do
  reply[2 + i] = 0
  --guard:delete-compares  only the holder's key is deleted
  if held[i] == ARGV[1 + i] then
    reply[2 + i] = 1
    mine[#mine + 1] = KEYS[i]
  end
end
if mine[1] then redis.call('DEL', unpack(mine)) end

-- Nearly always no process waits, which one EXISTS tells. Without the right to the queues
-- nobody is notified, and all poll: the release must not fail because of that.
local waiting = #KEYS > n and redis.pcall('EXISTS', unpack(KEYS, n + 1))
if type(waiting) ~= 'number' or waiting == 0 then return reply end
