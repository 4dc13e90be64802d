-- KEYS: mark, then the body's. ARGV: token, retention in ms, then the body's.
-- body and fault are what loadstring gave for the caller's script, which sees
-- only its own keys and arguments, counted from 1.
if not body then
  return {'syntax', fault}
end
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
-- An error of the body is data and never an error reply: an error reply that
-- begins with NOSCRIPT has to be the server's own, and mean that nothing has run.
local ran, reply = pcall(body, keys, argv)
local err = nil
if type(reply) == 'table' then
  err = reply.err
end
if ran and err == nil then
  return {'passed', reply}
end
--guard:redis-body-once  an error of a script isn't taken for the server's, so that the script runs once
return {'failed', tostring(err or reply)}
