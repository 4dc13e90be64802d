-- A resource's counter is two keys in the lock's slot.
--
-- {resource}:redlock is the counter itself: the last token in decimal.
--
-- {resource}:redlock:set is a text with the circumstances of the last grant:
--
--   prod@7 N=5 Q=3 MaxTTL=30s 21600000/82999 5f3c0e...
--   the set                   quarter/period the run
--
-- The set is quorum.Set.String, which contains no slash. The run is that of the server, as
-- the client knew it, with the epoch (see run.lua). If the client knew none, the run in the
-- text stays. The quarter is a fourth of the time, in milliseconds, for which a counter
-- outlives its last grant. The period is the server's clock divided by the quarter. 0/0 is
-- no period: the text is from a Restore, and doesn't vouch for the counter.
--
-- A grant that finds the text that it would write writes only the counter. That is nearly
-- every grant. The first grant in each period finds another text: it writes both keys anew
-- with a TTL of six quarters. A period is one quarter long, so every grant leaves both keys at
-- least five: the four that were promised, and one for the run time of a script, because the
-- server dates its writes by the script's start. The period and the TTLs follow the same
-- clock, so its jumps do no harm. Only a grant ever shortens the TTL of either key.
--
-- most is what a grant may count up to: as far ahead of the clock as the client allows, and
-- no further than Lua's numbers are exact, 2^53-1. The tokens' order depends on it, because
-- a lost counter starts from the clock. It also keeps a counter that somebody else wrote
-- from spreading to other servers.
local quarter, set = tonumber(ARGV[5]), ARGV[6]
local fenced = set ~= ''
local clock, span = now[1] * 1000000 + now[2], quarter * 1000
--guard:grant-bounded  no grant takes a counter further ahead of the clock than the client allows
local most = math.min(clock + ARGV[7], 9007199254740991)
--guard:run-is-written  the text beside a counter names the run of its last grant
local text = fenced and set .. ' ' .. ARGV[5] .. '/' .. (clock - clock % span) / span .. ' ' .. run

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

-- readset reads the text of a set's key. It returns an error; or the other set, if this one
-- must not lock after it; or neither, and the run, '' if none is known.
local function readset(key)
  local found = redis.pcall('GET', key)
  if type(found) == 'table' then return found end
  if not found then return nil, nil, '' end
  local theirs, theirrun = string.match(found, '^([^/]*) %d+/%d+ (.*)$')
  -- These have some 250 bytes. A longer text is not from this library, and too long a reply
  -- would cost the connection and the other replies on it.
  --guard:long-texts-cut  a long text beside one lock's counter doesn't fail the commands of other locks
  if not theirs or #found > 512 then
    return redis.error_reply('REDLOCKCOUNTER the text beside the counter is not a set, a period and a run')
  end
  --guard:set-is-compared  a client with another set of instances is refused
  if theirs ~= set and not supersedes(set, theirs) then return nil, theirs end
  return nil, nil, theirrun
end
