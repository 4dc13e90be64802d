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
-- So nothing of the body runs outside of xpcall: no function that it may have replaced, and no
-- metamethod of its reply, as tostring, reply.err, the pcall of Redis 7 and what makes a reply of a
-- table in Redis 6 would call.
local type, pcall, setmetatable = type, pcall, setmetatable
local ran, reply = xpcall(function() return body(keys, argv) end, function(e) return e end)
local err = nil
if type(reply) == 'table' then
  if pcall(setmetatable, reply, nil) then
    err = reply.err
  else
    err = 'a table with a protected metatable'
  end
end
if ran and err == nil then
  return {'passed', reply}
end
if err == nil then
  err = reply
end
if type(err) ~= 'string' and type(err) ~= 'number' then
  err = 'an error of type ' .. type(err)
end
return {'failed', '' .. err}
