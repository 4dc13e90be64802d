-- tokenin returns a counter's token, 0 if there is none; or nil and an error.
local function tokenin(counter)
  local text = redis.pcall('GET', counter)
  if type(text) == 'table' then return nil, text end
  if not text or text == '0' then return 0 end
  if not string.match(text, '^[1-9]%d*$') or #text > 16 or tonumber(text) > 9007199254740991 then
    return nil, redis.error_reply('REDLOCKCOUNTER the counter is not a token')
  end
  return tonumber(text)
end
