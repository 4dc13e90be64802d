-- KEYS: mark. ARGV: token, retention in ms (0: forever).
local verdict, held = show(KEYS[1], ARGV[1], ARGV[2])
return {verdict, held}
