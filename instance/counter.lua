-- A resource's counter is one text: the token in decimal, a space, and the set
-- that locked it last; behind the space is nothing if no set has yet. One text
-- rather than a hash, because it is read with all others of an exchange by one
-- MGET, and written with its time to live by one SET.
--
-- parse reads it: the token as a number and the set; or nil and an error.
-- 9007199254740991 is 2^53-1: up to there Lua's numbers are exact.
local function parse(text)
  local digits, set = string.match(text, '^([1-9]%d*) (.*)$')
  if not digits or #digits > 16 or tonumber(digits) > 9007199254740991 then
    return nil, redis.error_reply('REDLOCKCOUNTER the counter is not a token and a set')
  end
  return tonumber(digits), set
end

-- counter reads one counter: its token and set, nil and nil if there is none.
-- The third value is an error for the caller to return; then nothing can be said.
local function counter(key)
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then return nil, nil, text end
  if not text then return nil, nil end
  local token, set = parse(text)
  if not token then return nil, nil, set end
  return token, set
end

-- decimal writes a number in full: Lua's own tostring gives 14 digits.
local function decimal(number) return string.format('%.0f', number) end
