-- KEYS: mark, then the body's. ARGV: token, retention in ms, then the body's.
-- body is the function made of the caller's script; it is defined above and sees
-- only its own keys and arguments, counted from 1.
local verdict, held = show(KEYS[1], ARGV[1], ARGV[2])
if verdict ~= 'passed' then
  return {verdict, held}
end
local keys, argv = {}, {}
for i = 2, #KEYS do
  keys[i - 1] = KEYS[i]
end
for i = 3, #ARGV do
  argv[i - 2] = ARGV[i]
end
local reply = body(keys, argv)
if type(reply) == 'table' and reply.err ~= nil then
  return reply -- an error inside an array is easily overlooked
end
return {'passed', reply}
