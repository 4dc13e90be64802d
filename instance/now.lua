-- now is the server's clock: its seconds, and the microseconds of the last one.
local now = redis.call('TIME')
