-- A resource's counter is two keys beside its lock, in the same slot.
--
-- {resource}:redlock is the counter itself: the last token, in decimal. To count is
-- one INCR.
--
-- {resource}:redlock:set is one text that says under what it was counted last:
--
--   prod@7 N=5 Q=3 21600000/82999 5f3c0e...
--   the set        quarter/period the life
--
-- The set is what quorum.Set.String gives, in which there is no slash. The life is the
-- run id of the server as the client knew it: anything, or nothing if it knew none; then
-- the life that is written stays. The quarter is a fourth of the time, in milliseconds,
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
-- What is compared and written by this grant:
local call, pcall, quarter, set, life = redis.call, redis.pcall, ARGV[3], ARGV[4], ARGV[5]
local clock, span = now[1] * 1000000 + now[2], quarter * 1000
local text = set .. ' ' .. quarter .. '/' .. (clock - clock % span) / span .. ' ' .. life
