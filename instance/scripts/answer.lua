-- answer makes the reply of a script for one request: the nonce, the outcome (0 refused, 1
-- granted), a text or false, a TTL, a token, and the clock. Numbers are integers on the wire: up
-- to 2^53 they are exact in Lua, and cost the client less than strings.
local function answer(outcome, text, ttl, token)
  return {tonumber(ARGV[1]), outcome, text, ttl, token, tonumber(now[1]), tonumber(now[2])}
end
