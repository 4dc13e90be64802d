-- A resource's counter is two keys in the lock's slot.
--
-- {resource}:redlock is the counter itself: the last token in decimal. One INCR counts.
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
-- no period: the text is from a Restore.
--
-- A grant that finds the text that it would write writes only the counter. That is nearly
-- every grant, so the text is compared before it is parsed. The first grant in each period
-- finds another text: it writes both keys anew with a TTL of six quarters. A period is one
-- quarter long, so every grant leaves both keys at least five: the four that were promised,
-- and one for the run time of a script, because the server dates its writes by the script's
-- start. The period and the TTLs follow the same clock, so its jumps do no harm. Only a
-- grant ever shortens the TTL of either key.
--
-- most is what a grant may count up to: as far ahead of the clock as the client allows, and
-- no further than Lua's numbers are exact, 2^53-1. The tokens' order depends on it, because
-- a lost counter starts from the clock. It also keeps a counter that somebody else wrote
-- from spreading to other servers.
local call, pcall, quarter, set = redis.call, redis.pcall, ARGV[4], ARGV[5]
local clock, span = now[1] * 1000000 + now[2], quarter * 1000
--guard:grant-bounded  no grant takes a counter further ahead of the clock than the client allows
local most = math.min(clock + ARGV[6], 9007199254740991)
--guard:run-is-written  the text beside a counter names the run of its last grant
local text = set .. ' ' .. quarter .. '/' .. (clock - clock % span) / span .. ' ' .. run
