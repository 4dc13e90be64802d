-- Release: delete each lock's key that holds its value.
-- KEYS: the locks. ARGV: nonce, clock, and the locks' values.
--
-- An element of the answer is 1, or 0 where the key was gone or somebody else's.
local held, mine, seen = redis.call('MGET', unpack(KEYS)), {}, {}
for i = 1, #KEYS do
  local key, done = KEYS[i], 0
  local value = held[i]
  if not value then
    -- MGET says the same of a key that isn't there and of one that is no text.
    local why = redis.pcall('GET', key)
    if type(why) == 'table' then done = failed(why) end
  elseif value == ARGV[2 + i] and not seen[key] then
    done, seen[key] = 1, true
    mine[#mine + 1] = key
  end
  answer[3 + i] = done
end
if #mine > 0 then redis.call('DEL', unpack(mine)) end
return answer
