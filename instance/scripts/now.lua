-- now is the server's clock: seconds, and microseconds of the second.
local now = redis.call('TIME')
