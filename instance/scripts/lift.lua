-- Raise, Restore and Pass: lift each lock's counter to a token, while all keys hold the value. Restore
-- sets the keys that are missing, and Pass gives the others the TTL. Otherwise change nothing: everything is read before anything is
-- written, and the locks' keys come last, because everything before them may fail.
-- KEYS: the locks, with a token their counters; and the mark, see run.lua.
-- ARGV: run, the number of locks, value, ttl, which Raise doesn't use; token, or '' without fencing, how many
-- microseconds it may be ahead of the clock, how many milliseconds a counter outlives that;
-- and the operation.
-- Reply: the clock, and 1, or 0 if a key is gone or holds another value.
--
-- A counter's expiry is tied to its value: the server's clock has passed every token that the counter
-- gave before it expires. Then it may start again from the clock.
local n, value, ttl = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local token, op, held = tonumber(ARGV[5]), ARGV[8], {}
for i = 1, n do
  held[i] = pcall('GET', KEYS[i])
  if type(held[i]) == 'table' then return held[i] end
  --guard:raise-compares  a raise is refused where the key isn't the lease's any more
  --guard:restore-compares  a lease isn't put back over another holder's key
  if held[i] ~= value and (held[i] or op ~= 'restore') then return {clock, 0} end
end
if token then
  --guard:lift-bounded  no raise or restore settles a token that is further ahead of the clock than the client allows
  if token > clock + ARGV[6] then
    return redis.error_reply(string.format('REDLOCKCOUNTER %.0f %.0f', token, clock))
  end
  local counters = {}
  for i = 1, n do
    counters[i] = pcall('GET', KEYS[n + i]) or '0'
    if type(counters[i]) == 'table' then
      return string.find(counters[i].err, 'WRONGTYPE', 1, true) and redis.error_reply('REDLOCKCOUNTER ' .. counters[i].err) or counters[i]
    end
    -- Lua's tonumber takes nan, inf and hexadecimal numbers, too.
    if #counters[i] > 17 or not string.match(counters[i], '^%-?%d+$') then
      return redis.error_reply('REDLOCKCOUNTER the counter is not a token')
    end
  end
  for i = 1, n do
    local counter, left = KEYS[n + i], call('PTTL', KEYS[n + i])
    --guard:expiry-follows-the-token  a counter that is lifted lives until the clock has passed its token
    left = math.max(left, math.ceil((math.max(token - clock, 0) + ARGV[6]) / 1000) + ARGV[7])
    --guard:restore-has-token  a lease is put back with its token
    --guard:raise-only-lifts  a raise never lowers a counter
    if tonumber(counters[i]) < token then
      call('SET', counter, ARGV[5], 'PX', string.format('%.0f', left))
    else
      call('PEXPIRE', counter, string.format('%.0f', left))
    end
  end
end
for i = 1, n do
  if op == 'restore' and not held[i] then
    call('SET', KEYS[i], value, 'PX', ARGV[4])
  elseif op == 'pass' then
    call('PEXPIRE', KEYS[i], ARGV[4])
  elseif op == 'restore' then
    -- It may have been left over by an extension that found another key missing.
    local left = call('PTTL', KEYS[i])
    if left >= 0 and left < ttl then call('PEXPIRE', KEYS[i], ARGV[4]) end
  end
end
return {clock, 1}
