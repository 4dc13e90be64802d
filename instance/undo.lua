-- A transaction of the same request may have made the counter and the text (start.go), and not
-- granted the lock. This takes back what still is as the transaction left it, in whatever run
-- the server is. Then the script goes on as if there had been no transaction. start.go has why
-- nobody relies on it.
--guard:undone-if-made  only a counter that the same request has made is taken back
local made = ARGV[9] == '1'
--guard:undone-if-unchanged  a counter that gave a token or was restored since isn't taken back
if made and redis.pcall('GET', KEYS[3]) == ARGV[5] .. ' 0/0 ?' then
  redis.call('DEL', KEYS[3])
  -- Another holder's raise, or restore by an older client, leaves the text as it is.
  --guard:undone-while-held  a counter on which another holder may rely isn't taken back
  if redis.pcall('GET', KEYS[1]) == ARGV[10] then redis.call('DEL', KEYS[2]) end
end
