-- supersedes reports whether a client of the set mine takes over from the set
-- theirs: the same name and a higher version. Versions go up to 2^64-1, more than
-- a number here holds: the longer one is the larger, of two that are as long the
-- later in the alphabet.
local function supersedes(mine, theirs)
  local pattern = '^([^@]*)@(%d+) N=%d+ Q=%d+ MaxTTL=[%w.]+$'
  local theirname, their = string.match(theirs, pattern)
  local myname, my = string.match(mine, pattern)
  if not their or not my or theirname ~= myname then return false end
  if #my ~= #their then return #my > #their end
  return my > their
end
