-- counter reads a resource's counter: its token as a number, nil if it has
-- none, and the text of the set, nil or false if it has none. The third value
-- is an error for the caller to return; then nothing can be said.
--
-- 9007199254740991 is 2^53-1: up to there Lua's numbers are exact.
local function counter(key)
  local fields = redis.pcall('HMGET', key, 'token', 'set')
  if fields.err then return nil, nil, fields end
  local text = fields[1]
  if not text then return nil, fields[2] end
  if not string.find(text, '^[1-9]%d*$') or #text > 16 or tonumber(text) > 9007199254740991 then
    return nil, nil, redis.error_reply('REDLOCKCOUNTER the field token of the counter is not a token')
  end
  return tonumber(text), fields[2]
end

-- decimal writes a number in full: Lua's own tostring gives 14 digits.
local function decimal(number) return string.format('%.0f', number) end
