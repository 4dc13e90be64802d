-- lift raises a counter to a token if it is lower. It gives an error, or nothing. The
-- text beside it stays as it is, for this is no grant: if the counter is older than this
-- life of the server, the next grant still has to know.
--
-- Both keys are left four quarters to live at least. They are never given less than they
-- have: the text says that they have more.
local function lift(counter, key, token, quarter)
  local held, failure = tokenin(counter)
  if failure then return failure end
  local left = redis.call('PTTL', counter)
  local stale = left < 4 * quarter
  if stale then left = 6 * quarter end
  if held < tonumber(token) then
    redis.call('SET', counter, token, 'PX', left)
  elseif stale then
    redis.call('PEXPIRE', counter, left)
  end
  if stale then redis.call('PEXPIRE', key, left) end
end
