-- KEYS: mark, key. ARGV: token, retention in ms, value.
local verdict, held = show(KEYS[1], ARGV[1], ARGV[2])
if verdict ~= 'passed' then
  return {verdict, held}
end
redis.call('SET', KEYS[2], ARGV[3])
return {'passed'}
