-- A resource's counter is two keys beside its lock, in the same slot.
--
-- {resource}:redlock is the counter itself: the last token, in decimal. To count is
-- one INCR.
--
-- {resource}:redlock:set is one text that says under what it was counted last:
--
--   prod@7 N=5 Q=3 MaxTTL=30s 21600000/82999 5f3c0e...
--   the set                   quarter/period the run
--
-- The set is what quorum.Set.String gives, in which there is no slash. The run is that
-- of the server as the client knew it, with the epoch (see run.lua): nothing if it knew none; then the
-- run that is written stays. The quarter is a fourth of the time, in milliseconds,
-- that a counter is to outlive its last grant; the period is the server's clock divided
-- by it. 0/0 is no period: the text is from a Restore.
--
-- A grant that finds the text that it would write has nothing to write but the
-- counter: that is nearly every grant, and so the text is compared before anything is
-- taken apart. In each period, though, the first grant finds another text. It writes
-- both keys anew and gives both six quarters to live. As a period lasts for one, every
-- grant leaves the keys five at least: four that were promised, and one for the time
-- that passes while a script runs, for the server dates what it writes by the script's
-- start. Both are by the same clock, so its jumps take nothing from that. Neither key
-- is ever given less by anybody but a grant.
--
-- What is compared and written by this grant. most is what a grant may count up to: so
-- far ahead of the clock as the client says, and no further than Lua's numbers are exact,
-- 2^53-1. The tokens' order rests on it, for a counter that was lost starts from the clock;
-- and a counter that was written by somebody else doesn't spread to other servers.
local call, pcall, quarter, set = redis.call, redis.pcall, ARGV[4], ARGV[5]
local clock, span = now[1] * 1000000 + now[2], quarter * 1000
--guard:grant-bounded  no grant takes a counter further ahead of the clock than the client allows
local most = math.min(clock + ARGV[6], 9007199254740991)
--guard:run-is-written  the text beside a counter names the run of its last grant
local text = set .. ' ' .. quarter .. '/' .. (clock - clock % span) / span .. ' ' .. run
