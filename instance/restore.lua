-- Restore: put a running lease back where it is lacking.
-- KEYS: lock, and counter with fencing. ARGV: nonce, value, ttl, and with
-- fencing token, counter's ttl, set.
--
-- A key that holds the value already keeps its time to live. The text of the
-- set is written only where there is none: this is no vote on the set.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
if held and held ~= ARGV[2] then
  return answer(0, false, 0, 0)
end
local token, set, failure
if KEYS[2] then
  token, set, failure = counter(KEYS[2])
  if failure then return failure end
end
if not held then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
if KEYS[2] then
  if not token or token < tonumber(ARGV[4]) then token = tonumber(ARGV[4]) end
  if not set or set == '' then set = ARGV[6] end
  redis.call('SET', KEYS[2], decimal(token) .. ' ' .. set, 'PX', ARGV[5])
end
return answer(1, false, 0, 0)
