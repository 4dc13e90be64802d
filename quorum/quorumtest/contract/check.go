// Package contract checks that a wire.Instance behaves as package quorum expects, see Check.
package contract

import (
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// Putter may be implemented by an Instance under Check. Then Check also covers keys without
// expiry, which no request can make. Server is a Putter; for another Instance a test adds the
// method.
type Putter interface {
	// Put sets a key, with a TTL or without expiry (wire.NoExpiry). It has done so when it
	// returns.
	Put(key, value string, ttl time.Duration)
}

// Restarter may be implemented by an Instance under Check. Then Check also covers restarts.
type Restarter interface {
	// Restart ends the server and starts it again, with its data or without. When it
	// returns, the new run of the server answers.
	Restart(keepData bool)
}

// Option changes how Check works.
type Option func(*check)

// Virtual runs each part of Check, with open, in its own testing/synctest bubble, so that
// waiting takes no time.
func Virtual() Option { return func(c *check) { c.virtual, c.skew = true, 0 } }

// Clock sets the clock by which Check waits, and with which it compares the instance's wall
// clock. The default is the real clock.
func Clock(clk clock.Clock) Option { return func(c *check) { c.clock = clk } }

// Check is the contract of wire.Instance: every implementation must pass it. It asks the instance
// and a memory.Data the same, drawn at random for locks of one key and of several, and demands the same
// votes, and the same keys and counters after each.
//
// Open returns an instance for each part of the check, on a server with any data. It runs on
// the test's goroutine, and can close the instance with t.Cleanup. Check's keys have a random
// prefix. It leaves counters behind, which expire within the hour.
func Check(t *testing.T, open func(t *testing.T) wire.Instance, options ...Option) {
	t.Helper()
	c := newCheck(options...)
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			body := func(t *testing.T) { c.part(p, t, open(t)) }
			if c.virtual {
				synctest.Test(t, body)
			} else {
				body(t)
			}
		})
	}
}

// part is one part of the contract. Parts are independent, so that a broken instance fails the
// part that names what is broken.
type part struct {
	name string
	run  func(*check)
}

// parts is the contract.
var parts = []part{
	{"histories", checkHistories},
	{"ttl", checkTTL},
	{"counters expire", checkCounterTTL},
	{"tokens of many cycles", checkCycles},
	{"send: many at once", checkSendMany},
	{"send: a timeout", checkSendTimeout},
	{"send: from a receiver", checkSendAgain},
	{"the wait queue", checkQueue},
	{"closed subscriptions are passed over", checkClosedSubscriptions},
	{"probe", checkProbe},
	{"mark", checkMark},
	{"restart", checkRestart},
}

// tester is the part of *testing.T that the checks need. The tests of Check use a recorder
// instead, to see parts fail.
type tester interface {
	require.TestingT
	Helper()
	Context() context.Context
	Skip(args ...any)
}

// check checks one part of the contract on one instance.
type check struct {
	virtual bool
	clock   clock.Clock
	skew    time.Duration // how far the server's wall clock may be from the check's

	t      tester
	inst   wire.Instance
	prefix string

	// model is what the server should have, and do.
	model *memory.Data
	// ahead is how far the server's clock is known to be ahead of the check's.
	ahead time.Duration
	// slowest is how long a request took: the model's times are that far from the server's.
	slowest time.Duration
	// id is what the last probe found.
	id *wire.Identity
}

func newCheck(options ...Option) *check {
	c := &check{clock: clock.New(), skew: 10 * time.Millisecond}
	for _, option := range options {
		option(c)
	}
	return c
}

// part runs a part on inst, and reports to t.
func (c *check) part(p part, t tester, inst wire.Instance) {
	require.NotNil(t, inst, "open gave no instance")
	bound := *c
	bound.t, bound.inst, bound.prefix, bound.model = t, inst, "quorumtest:"+rand.Text()+":", memory.NewData()
	p.run(&bound)
}
