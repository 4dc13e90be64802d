-- The line of those who wait for a lock is a list of channels, the first in line
-- first, each of them one process's own. callnext calls the first one that somebody
-- listens to, and drops those before it: their processes have gone. It gives 1, or
-- 0 if there was nobody to call. It never fails, because the lock's release mustn't:
-- where the user may not do this, nobody is called, and all poll.
local function callnext(waiters, lock)
  while true do
    local first = redis.pcall('LPOP', waiters)
    if type(first) ~= 'string' then return 0 end
    local heard = redis.pcall('PUBLISH', first, lock)
    if type(heard) ~= 'number' then return 0 end
    if heard > 0 then return 1 end
  end
end
