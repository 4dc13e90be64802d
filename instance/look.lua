-- Look: read the lock, and the counter with fencing; write nothing.
-- KEYS: lock, and counter with fencing. ARGV: nonce.
local now = redis.call('TIME')
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' then return held end
local token, _, failure
if KEYS[2] then
  token, _, failure = counter(KEYS[2])
  if failure then return failure end
end
token = token and decimal(token) or '0'
if not held then
  return {ARGV[1], 'G', '', 0, token, now[1], now[2]}
end
return {ARGV[1], 'R', held, redis.call('PTTL', KEYS[1]), token, now[1], now[2]}
