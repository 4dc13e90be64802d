-- answer gives what all scripts answer with that are for one lock: the call's nonce,
-- the outcome (0 refused, 1 granted, 2 refused for the set, 3 granted in place of
-- another value), a text or false, a time to live (or how many tokens were reserved), a
-- token, and the clock. Numbers go
-- over the wire as whole ones: up to 2^53 they are exact here, and cost the client
-- less than texts.
local function answer(outcome, text, ttl, token)
  return {tonumber(ARGV[1]), outcome, text, ttl, token, tonumber(now[1]), tonumber(now[2])}
end
