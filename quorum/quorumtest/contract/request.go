package contract

import (
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

const (
	// long is a TTL that doesn't end during a check, short a TTL that a check waits for, and
	// patience how long an answer may take on the busiest machine.
	long     = time.Minute
	short    = 40 * time.Millisecond
	patience = time.Minute

	// ahead is how far counters may be ahead of the clock in most requests. With endless they
	// may be as large as a token.
	ahead   = time.Hour
	endless = 280 * 365 * 24 * time.Hour

	// grain is the resolution of a server's clock: servers count in whole milliseconds, and
	// round twice.
	grain = 2 * time.Millisecond

	// tick is some time in which the clock gets ahead of a counter, and minute one in tokens.
	tick   = 2 * time.Millisecond
	minute = fencing.Token(time.Minute / time.Microsecond)
)

func (c *check) key(name string) string { return c.prefix + name }

// of makes it a request for these locks.
func (c *check) of(cmd wire.Request, names ...string) wire.Request {
	cmd.Keys = nil
	for _, name := range names {
		cmd.Keys = append(cmd.Keys, c.key(name))
	}
	return cmd
}

func alone(cmd wire.Request) wire.Request { return cmd }

// several makes it a request for three locks.
func several(cmd wire.Request) wire.Request {
	key := cmd.Keys[0]
	cmd.Keys = []string{key, key + ".2", key + ".3"}
	return cmd
}

func fenced(cmd wire.Request, token fencing.Token) wire.Request {
	cmd.Fence = wire.Fence{On: true, Token: token, Floor: 1, TTL: time.Hour, Ahead: ahead}
	return cmd
}

func timed(cmd wire.Request, ttl time.Duration) wire.Request {
	cmd.TTL = ttl
	return cmd
}

func (c *check) acquire(name, value string) wire.Request { return fenced(c.bare(name, value), 0) }

// bare is Acquire without Fence: the SET NX PX of the Redis document.
func (c *check) bare(name, value string) wire.Request {
	return wire.Request{Op: wire.Acquire, Keys: []string{c.key(name)}, Value: value, TTL: long}
}

func (c *check) raise(name, value string, token fencing.Token) wire.Request {
	return fenced(wire.Request{Op: wire.Raise, Keys: []string{c.key(name)}, Value: value}, token)
}

func (c *check) extend(name, value string, ttl time.Duration) wire.Request {
	return wire.Request{Op: wire.Extend, Keys: []string{c.key(name)}, Value: value, TTL: ttl}
}

func (c *check) restore(name, value string, token fencing.Token) wire.Request {
	return fenced(wire.Request{Op: wire.Restore, Keys: []string{c.key(name)}, Value: value, TTL: long}, token)
}

func (c *check) release(name, value string) wire.Request {
	return wire.Request{Op: wire.Release, Keys: []string{c.key(name)}, Value: value}
}

func (c *check) look(name string) wire.Request {
	return wire.Request{Op: wire.Look, Keys: []string{c.key(name)}, Fence: wire.Fence{On: true}}
}
