-- show compares token with the mark at key and raises the mark to it.
-- It gives 'passed', or 'stale' or 'corrupt' and what the mark holds; then
-- nothing was changed. Tokens are compared as numbers, which Lua holds exactly up
-- to 2^53, but kept as the text that came: Lua's tostring gives 9.007199254741e+15.
-- A key that is no string fails in GET, before anything was changed.
local function show(key, token, retention)
  local held = redis.call('GET', key)
  if held then
    if #held > 16 or not string.find(held, '^[1-9]%d*$') or tonumber(held) > 9007199254740991 then
      return 'corrupt', string.sub(held, 1, 40)
    end
    --guard:redis-refuses-lower  a guard in Redis refuses a token below the largest that it has seen
    if tonumber(token) < tonumber(held) then
      return 'stale', held
    end
  end
  -- The time to live of a mark is never shortened: the guards of a resource may
  -- differ in their retentions, and the longest one holds. -1: no end.
  local left = held and redis.call('PTTL', key) or -2
  if retention == '0' or left == -1 then
    left = nil
  else
    left = string.format('%.0f', math.max(tonumber(retention), left))
  end
  -- The branch for an equal token writes too, so that a replica, whose mark may
  -- be an old one, answers READONLY instead of letting it pass.
  if held ~= token then
    if left then
      redis.call('SET', key, token, 'PX', left)
    else
      --guard:redis-remembers  a guard in Redis remembers the largest token that it was shown
      redis.call('SET', key, token)
    end
  elseif left then
    redis.call('PEXPIRE', key, left)
  else
    redis.call('PERSIST', key)
  end
  return 'passed'
end
