-- supersedes reports whether a client with the set mine takes over from the set theirs: the
-- same name and a higher version. Versions go up to 2^64-1, which is more than Lua's numbers
-- hold. So it compares the texts: the longer one is larger, and of two equally long ones the
-- one later in the alphabet.
local function supersedes(mine, theirs)
  local pattern = '^([^@]*)@(%d+) N=%d+ Q=%d+ MaxTTL=[%w.]+$'
  local theirname, their = string.match(theirs, pattern)
  local myname, my = string.match(mine, pattern)
  if not their or not my or theirname ~= myname then return false end
  if #my ~= #their then return #my > #their end
  return my > their
end
