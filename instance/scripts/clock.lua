-- The server's clock, in microseconds.
local now = redis.call('TIME')
local clock = now[1] * 1000000 + now[2]
