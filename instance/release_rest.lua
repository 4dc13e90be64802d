-- The rest is seldom needed.
local deleted = {}
for i = 1, n do
  local key = KEYS[i]
  if answer[1 + i] == 1 then
    if deleted[key] then answer[1 + i] = 0 end
    deleted[key] = true
  elseif not held[i] then
    -- MGET returns the same for a missing key and for one that is no string.
    local why = redis.pcall('GET', key)
    if type(why) == 'table' then answer[1 + i] = 'E' .. why.err end
  end
end
if waiting then
  for i = 1, #KEYS - n do
    local done = answer[1 + i]
    if done == 1 or done == 0 and not held[i] then answer[1 + i] = done + 2 * notifynext(KEYS[n + i], KEYS[i]) end
  end
end
return answer
