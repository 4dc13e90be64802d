-- Tick: return the clock.
-- KEYS: the mark, see run.lua. ARGV: run.
return {clock}
