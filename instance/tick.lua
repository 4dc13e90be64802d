-- Tick: tell the clock, which is in every answer.
-- KEYS: none but the mark, see run.lua. ARGV: nonce, run.
return answer(1, false, 0, 0)
