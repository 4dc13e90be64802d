-- AcquireAll: set the keys of several locks if each is free or holds the replaced value, and
-- raise their counters to one token, in the same step. Otherwise change nothing.
-- KEYS: the locks, with fencing their counters and their sets' texts; and the mark, see
-- run.lua.
-- ARGV: as for acquire.lua, and before the value the number of locks. No tokens are reserved.
-- If a lock is in the way, the reply's token is its number, and the text and the ttl are those of its
-- key, as for acquire.lua.
--
-- Everything is read before anything is written. The four properties at the head of
-- acquire.lua hold for each of the locks: the token is the largest that a grant of any of them
-- alone would get, so it is larger than each counter was; it is no further ahead of the clock
-- than ARGV allows; each counter is raised to it before the first key is set; and a request
-- that is refused or fails has written nothing.
local n, value, replaced = tonumber(ARGV[#ARGV - 2]), ARGV[#ARGV - 1], ARGV[#ARGV]
local fenced, start = KEYS[2 * n] ~= nil, tonumber(ARGV[8])
local outcome, token, known, found, held, usual = 1, 0, {}, {}, {}, {}

if fenced then
  -- Nearly always each text is the one that this grant would write, as with acquire.lua.
  local texts = call('MGET', unpack(KEYS, 2 * n + 1, 3 * n))
  for i = 1, n do
    local failure, theirs
    known[i], found[i] = run, text
    --guard:each-set-is-compared  a lease on several keys is refused if any of them was last locked under another set
    if run == '' or texts[i] ~= text then failure, theirs, known[i], found[i] = readset(KEYS[2 * n + i]) end
    if failure then return failure end
    if theirs then return answer(2, theirs, 0, i) end
  end
end

local busy = redis.call('EXISTS', unpack(KEYS, 1, n)) > 0
for i = 1, busy and n or 0 do
  local there = redis.pcall('GET', KEYS[i])
  -- A key of another type is held, too.
  if type(there) == 'table' and not string.find(there.err, 'WRONGTYPE', 1, true) then return there end
  --guard:all-keys-free  of several keys none is set unless all are free
  if there and (replaced == '' or there ~= replaced) then
    return answer(0, type(there) == 'string' and string.sub(there, 1, 16384), redis.call('PTTL', KEYS[i]), i)
  end
  if there then outcome = 3 end
end

if fenced then
  local counters = call('MGET', unpack(KEYS, n + 1, 2 * n))
  for i = 1, n do
    local failure
    held[i] = counters[i] and string.find(counters[i], '^1%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') and tonumber(counters[i])
    -- One that isn't a usual number of microseconds may be lost, too large, or none.
    if not held[i] then held[i], failure = tokenin(KEYS[n + i]) end
    if failure then return failure end
    local counted = held[i] + 1
    -- As in counter.lua.
    --guard:each-made-from-clock  a counter that a transaction made goes on from the clock, also beside others
    usual[i] = counted >= 100000000000000 and (run == '' or run == known[i]) and known[i] ~= '?'
    --guard:each-counter-from-clock  a counter that was lost or is of another run goes on from the clock, also beside others
    if not usual[i] then
      counted = math.max(counted, clock + 1)
      if start <= most then counted = math.max(counted, start) end
    end
    --guard:above-each-counter  the token of a lease on several keys is above the counter of each
    token = math.max(token, counted)
  end
  --guard:all-bounded  no grant of several keys takes a counter further ahead of the clock than the client allows
  if token > most then
    return redis.error_reply(string.format('REDLOCKCOUNTER %.0f %.0f', token, clock))
  end
  for i = 1, n do
    local written = text
    if run == '' and known[i] ~= '?' then written = text .. known[i] end
    --guard:all-counters-at-token  each counter of a lease on several keys is raised to its token
    if usual[i] and written == found[i] then
      call('INCRBY', KEYS[n + i], string.format('%.0f', token - held[i]))
    else
      call('SET', KEYS[n + i], string.format('%.0f', token), 'PX', 6 * quarter)
      call('SET', KEYS[2 * n + i], written, 'PX', 6 * quarter)
    end
  end
end

for i = 1, n do
  --guard:each-key-expires  each key of a lease on several is gone after its TTL
  redis.call('SET', KEYS[i], value, 'PX', ARGV[3])
end
return answer(outcome, false, 0, token)
