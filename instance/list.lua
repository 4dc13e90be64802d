-- The head of a script that does the same for many locks in one go: what it
-- costs a server to begin a script is as much as two or three of its commands, and
-- each argument and each element of an answer is as much as half of one.
--
-- It answers with a list: the call's nonce, from an acquire the clock in microseconds,
-- and an element for each lock. An error of one lock is a text that begins with E: it
-- says nothing of the others.
local function failed(failure) return 'E' .. (string.gsub(failure.err, '^%-', '')) end
