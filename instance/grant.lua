-- What a grant needs that doesn't find the text that it would write.

-- judge reads the text of a set's key. It gives an error; or the other set, if this one
-- mustn't lock after it; or neither, and the life, '' if none is known.
local function judge(key, found)
  if not found then
    -- MGET says the same of a key that isn't there and of one that is no text.
    found = pcall('GET', key)
    if type(found) == 'table' then return found end
    if not found then return nil, nil, '' end
  end
  local theirs, known = string.match(found, '^([^/]*) %d+/%d+ (.*)$')
  if not theirs then
    return redis.error_reply('REDLOCKCOUNTER the text beside the counter is not a set, a period and a life')
  end
  if theirs ~= set and not supersedes(set, theirs) then return nil, theirs end
  return nil, nil, known
end

-- count raises the counter for a grant, and writes what there is to write with it: found
-- is the text that was found, known the life in it. counted is what INCR has answered, if
-- it has been asked. It gives the token, or nil and an error. many is how many tokens
-- are taken, 1 if it is nil: what is given is the last of them.
--
-- 9007199254740991 is 2^53-1: up to there Lua's numbers are exact.
local function count(counter, key, found, known, counted, many)
  many = many or 1
  counted = counted or many == 1 and pcall('INCR', counter) or pcall('INCRBY', counter, many)
  if type(counted) ~= 'number' then
    if string.find(counted.err, 'not an integer') or string.find(counted.err, 'overflow') then
      return nil, redis.error_reply('REDLOCKCOUNTER the counter is not a whole number')
    end
    return nil, counted
  end
  if counted < many or counted > 9007199254740991 then
    pcall('DECRBY', counter, many) -- only for whoever looks into it
    return nil, redis.error_reply('REDLOCKCOUNTER the counter is no token, or the last one')
  end

  local token, written = counted, text
  if (counted == many or life ~= '' and life ~= known) and token - many < clock then token = clock + many end
  if life == '' then written = text .. known end -- text ends where the life goes
  if token == counted and written == found then return token end

  -- The counter first: the text vouches for it.
  local done = pcall('SET', counter, string.format('%.0f', token), 'PX', 6 * quarter)
  if not done.err then done = pcall('SET', key, written, 'PX', 6 * quarter) end
  if not done.err then return token end
  if counted == many then call('DEL', counter) end
  return nil, done
end
