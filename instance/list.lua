-- The head of a script that does the same for many locks in one go: what it
-- costs a server to begin a script is as much as two or three of its commands.
--
-- It answers with a list: the call's nonce, the clock's seconds and microseconds
-- (0 if nobody asked), and an element for each lock. An error of one lock is a
-- text that begins with E: it says nothing of the others.
local answer = {ARGV[1], 0, 0}
local now = ARGV[2] == '1' and redis.call('TIME')
if now then answer[2], answer[3] = tonumber(now[1]), tonumber(now[2]) end

local function failed(failure) return 'E' .. (string.gsub(failure.err, '^%-', '')) end
