-- An acquisition of several locks sets all of their keys or none: if not all of them hold the value
-- after the SETs, the others are deleted, in the same transaction.
-- KEYS: the locks. ARGV: the value. Reply: how many were deleted.
local call, mine = redis.call, {}
for _, key in ipairs(KEYS) do
  local held = redis.pcall('GET', key)
  if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  if held == ARGV[1] then mine[#mine + 1] = key end
end
--guard:all-or-none  of several locks none is kept unless all are free
if #mine == #KEYS or #mine == 0 then return 0 end
return call('DEL', unpack(mine))
