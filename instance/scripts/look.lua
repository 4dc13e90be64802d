-- Look: read the lock, and with fencing the counter; write nothing.
-- KEYS: lock, with fencing counter. Reply: the clock, the value or false, its PTTL, the counter or false.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
local counter = KEYS[2] and redis.pcall('GET', KEYS[2])
if type(counter) == 'table' then
  return string.find(counter.err, 'WRONGTYPE', 1, true) and redis.error_reply('REDLOCKCOUNTER ' .. counter.err) or counter
end
return {clock, held, held and redis.call('PTTL', KEYS[1]) or 0, counter}
