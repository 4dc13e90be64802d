-- The rest of the locks, with the properties in acquire.lua. counted is false for a lock
-- that was not touched, or INCR's reply, if the key was set and the text was right.
local function settle(i, counted)
  local lock, known = KEYS[i], run
  if not counted then
    local failure, theirs
    failure, theirs, known = readset(KEYS[2 * n + i], texts[i])
    if failure then return 'E' .. failure.err end
    if theirs then return 'S' .. theirs end
    --guard:free-key-only-settle  a key is set only where it is free, also if its counter needs another text
    --guard:key-expires-settle  a key whose holder died is gone after its TTL, also if its counter needs another text
    local done = pcall('SET', lock, ARGV[6 + i], 'NX', 'PX', ttl)
    if not done then return -3 - call('PTTL', lock) end
    if done.err then return 'E' .. done.err end
  end
  local token, _, failure = count(KEYS[n + i], KEYS[2 * n + i], texts[i], known, counted)
  if token then return token end
  --guard:failed-counter-frees-lock  a lock whose counter can't be raised isn't left set
  call('DEL', lock)
  return 'E' .. failure.err
end

for i = 1, n do
  if rest[i] ~= nil then answer[2 + i] = settle(i, rest[i]) end
end
return answer
