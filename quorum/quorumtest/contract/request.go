package contract

import (
	"fmt"
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
	cmd.Key, cmd.Also = c.key(names[0]), nil
	for _, name := range names[1:] {
		cmd.Also = append(cmd.Also, c.key(name))
	}
	return cmd
}

func alone(cmd wire.Request) wire.Request { return cmd }

// several makes it a request for three locks.
func several(cmd wire.Request) wire.Request {
	cmd.Also = []string{fmt.Sprint(cmd.Key, ".2"), fmt.Sprint(cmd.Key, ".3")}
	return cmd
}

func keysOf(cmd wire.Request) []string { return append([]string{cmd.Key}, cmd.Also...) }

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
	return wire.Request{Op: wire.Acquire, Key: c.key(name), Value: value, TTL: long}
}

func (c *check) raise(name, value string, token fencing.Token) wire.Request {
	return fenced(wire.Request{Op: wire.Raise, Key: c.key(name), Value: value}, token)
}

func (c *check) extend(name, value string, ttl time.Duration) wire.Request {
	return wire.Request{Op: wire.Extend, Key: c.key(name), Value: value, TTL: ttl}
}

func (c *check) restore(name, value string, token fencing.Token) wire.Request {
	return fenced(wire.Request{Op: wire.Restore, Key: c.key(name), Value: value, TTL: long}, token)
}

func (c *check) release(name, value string) wire.Request {
	return wire.Request{Op: wire.Release, Key: c.key(name), Value: value}
}

func (c *check) look(name string) wire.Request {
	return wire.Request{Op: wire.Look, Key: c.key(name), Fence: wire.Fence{On: true}}
}
