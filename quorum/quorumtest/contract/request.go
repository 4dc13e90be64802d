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

	// ahead is how far counters may be ahead of the clock in most checks. With endless they
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

// main is the set of instances in most requests.
var main = wire.Set{Name: "main", Version: 7, N: 5, Q: 3}

func (c *check) key(name string) string { return c.prefix + name }

// request is a request for a lock, as package quorum builds it. The lock has the number of keys
// that the part is run for.
func (c *check) request(op wire.Op, name, value string) wire.Request {
	cmd := wire.Request{Op: op, Key: c.key(name), Value: value}
	for i := 2; i <= c.keys; i++ {
		cmd.Also = append(cmd.Also, fmt.Sprint(cmd.Key, ".", i))
	}
	return cmd
}

// of makes it a request for these keys.
func (c *check) of(cmd wire.Request, names ...string) wire.Request {
	cmd.Key, cmd.Also = c.key(names[0]), nil
	for _, name := range names[1:] {
		cmd.Also = append(cmd.Also, c.key(name))
	}
	return cmd
}

func keysOf(cmd wire.Request) []string { return append([]string{cmd.Key}, cmd.Also...) }

func fenced(cmd wire.Request, token fencing.Token) wire.Request {
	cmd.Fence = wire.Fence{On: true, Token: token, TTL: time.Hour, Ahead: ahead, Set: main}
	return cmd
}

func timed(cmd wire.Request, ttl time.Duration) wire.Request {
	cmd.TTL = ttl
	return cmd
}

func (c *check) acquire(name, value string) wire.Request { return fenced(c.bare(name, value), 0) }

// bare is Acquire without Fence: the SET NX PX of the Redis document.
func (c *check) bare(name, value string) wire.Request {
	return timed(c.request(wire.Acquire, name, value), long)
}

func (c *check) raise(name, value string, token fencing.Token) wire.Request {
	return fenced(c.request(wire.Raise, name, value), token)
}

func (c *check) extend(name, value string, ttl time.Duration) wire.Request {
	return timed(fenced(c.request(wire.Extend, name, value), 0), ttl)
}

func (c *check) restore(name, value string, token fencing.Token) wire.Request {
	return timed(fenced(c.request(wire.Restore, name, value), token), long)
}

func (c *check) release(name, value string) wire.Request {
	return c.request(wire.Release, name, value)
}

// look looks at the first key of a lock.
func (c *check) look(name string) wire.Request {
	return wire.Request{Op: wire.Look, Key: c.key(name), Fence: wire.Fence{On: true}}
}

// replacing is an Acquire in place of another value.
func replacing(cmd wire.Request, old string) wire.Request {
	cmd.Replace = old
	return cmd
}

// under is an Acquire under another set.
func under(cmd wire.Request, set wire.Set) wire.Request {
	cmd.Fence.Set = set
	return cmd
}

// within is a request that bounds how far its counters may be ahead of the clock.
func within(cmd wire.Request, bound time.Duration) wire.Request {
	cmd.Fence.Ahead = bound
	return cmd
}

func reserving(cmd wire.Request, n int) wire.Request {
	cmd.Fence.Reserve = n
	return cmd
}

// known is a request by a client that knows the server's run. If the server hides it, the part is
// skipped.
func (c *check) known(cmd wire.Request) wire.Request {
	c.t.Helper()
	if c.id == nil {
		id := c.probe(wire.Known{})
		c.id = &id
	}
	if cmd.Run = c.id.Run(); cmd.Run == "" {
		c.t.Skip("the server hides its run")
	}
	return cmd
}
