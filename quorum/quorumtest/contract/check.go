// Package contract checks that a wire.Instance behaves as package quorum expects, see Check.
package contract

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Putter may be implemented by an Instance under Check. Then Check also covers states that no
// request can make: keys without expiry, and counters of an earlier run. Server is a Putter;
// for another Instance a test adds the methods.
type Putter interface {
	// PutRun sets the run in the record beside a resource's counter. Without a record it
	// does nothing.
	PutRun(key string, run wire.Run)

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
func Virtual() Option { return func(c *check) { c.virtual = true } }

// Clock sets the clock by which Check waits, and with which it compares the instance's wall
// clock. The default is the real clock.
func Clock(clk clock.Clock) Option { return func(c *check) { c.clock = clk } }

// Skew sets how far the server's wall clock may be from Check's, 0 or more. The default is
// 10 ms. Raise it for a server on another machine.
func Skew(d time.Duration) Option { return func(c *check) { c.skew = d } }

// Check is the contract of wire.Instance: every implementation must pass it.
//
// Open returns an instance for each part of the check, on a server with any data. It runs on
// the test's goroutine, and can close the instance with t.Cleanup. Check's keys have a random
// prefix. It leaves counters behind, which expire within the hour.
func Check(t *testing.T, open func(t *testing.T) wire.Instance, options ...Option) {
	t.Helper()
	c := newCheck(options...)
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			body := func(t *testing.T) { p.run(c.on(t, open(t))) }
			if c.virtual {
				synctest.Test(t, body)
			} else {
				body(t)
			}
		})
	}
}

// part is one part of the contract.
type part struct {
	name string
	run  func(*check)
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
	skew    time.Duration

	t      tester
	inst   wire.Instance
	prefix string
	// mayCount is how many requests were sent that may raise a counter though they are not
	// granted.
	mayCount *atomic.Int64
}

func newCheck(options ...Option) *check {
	c := &check{clock: clock.New(), skew: 10 * time.Millisecond}
	for _, option := range options {
		option(c)
	}
	return c
}

// on returns a check of inst that reports to t.
func (c *check) on(t tester, inst wire.Instance) *check {
	require.NotNil(t, inst, "open gave no instance")
	bound := *c
	bound.mayCount = new(atomic.Int64)
	bound.t, bound.inst, bound.prefix = t, inst, "quorumtest:"+rand.Text()+":"
	return &bound
}

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
)

// main is the set of instances in most requests.
var main = wire.Set{Name: "main", Version: 7, N: 5, Q: 3}

func (c *check) key(name string) string { return c.prefix + name }

// The requests, as package quorum builds them.

func (c *check) acquire(name, value string) wire.Request {
	return wire.Request{Op: wire.Acquire, Key: c.key(name), Value: value, TTL: long, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: ahead, Set: main}}
}

// bare is Acquire without Fence: the SET NX PX of the Redis document.
func (c *check) bare(name, value string) wire.Request {
	return wire.Request{Op: wire.Acquire, Key: c.key(name), Value: value, TTL: long}
}

func (c *check) raise(name, value string, token fencing.Token) wire.Request {
	return wire.Request{Op: wire.Raise, Key: c.key(name), Value: value, Fence: wire.Fence{Token: token, On: true, TTL: time.Hour, Ahead: ahead, Set: main}}
}

func (c *check) extend(name, value string, ttl time.Duration) wire.Request {
	return wire.Request{Op: wire.Extend, Key: c.key(name), Value: value, TTL: ttl, Fence: wire.Fence{On: true, TTL: time.Hour, Ahead: ahead, Set: main}}
}

func (c *check) restore(name, value string, token fencing.Token) wire.Request {
	return wire.Request{Op: wire.Restore, Key: c.key(name), Value: value, TTL: long, Fence: wire.Fence{Token: token, On: true, TTL: time.Hour, Ahead: ahead, Set: main}}
}

func (c *check) release(name, value string) wire.Request {
	return wire.Request{Op: wire.Release, Key: c.key(name), Value: value}
}

func (c *check) look(name string) wire.Request {
	return wire.Request{Op: wire.Look, Key: c.key(name), Fence: wire.Fence{On: true}}
}

// do sends a request, which must be answered, and checks that the vote is well-formed.
func (c *check) do(cmd wire.Request) wire.Vote {
	c.t.Helper()
	vote := c.send(cmd)
	require.NotEqual(c.t, wire.Failed, vote.Outcome, "%v failed: %v", cmd.Op, vote.Err)
	require.NoError(c.t, wellFormed(cmd, vote))
	return vote
}

// send may be called from any goroutine: it checks nothing.
func (c *check) send(cmd wire.Request) wire.Vote {
	if cmd.Op == wire.Acquire && cmd.Run != "" {
		c.mayCount.Add(1)
	}
	v := make(votes, 2)
	c.inst.Send(cmd, patience, v)
	return <-v
}

func (c *check) granted(cmd wire.Request) wire.Vote {
	c.t.Helper()
	vote := c.do(cmd)
	require.Equal(c.t, wire.Granted, vote.Outcome, "%v of %q as %q: refused (%v)", cmd.Op, cmd.Key, cmd.Value, vote.Err)
	return vote
}

// refused demands that the request is refused because of the key.
func (c *check) refused(cmd wire.Request) wire.Vote {
	c.t.Helper()
	vote := c.do(cmd)
	require.Equal(c.t, wire.Refused, vote.Outcome, "%v of %q as %q was granted", cmd.Op, cmd.Key, cmd.Value)
	require.NoError(c.t, vote.Err)
	return vote
}

// changesNothing runs f and demands that it doesn't change the resource: neither the holder
// nor the counter nor the expiry. But an Acquire that names a run may count for nothing.
func (c *check) changesNothing(name string, f func()) {
	c.t.Helper()
	from, counted := c.clock.Now(), c.mayCount.Load()
	before := c.do(c.look(name))
	f()
	c.unchanged(name, before, from, counted)
}

// counts demands that a counter is at want, or above it by no more than the requests that
// may have counted for nothing since mayCount was before: each Acquire that names a run.
func (c *check) counts(want, got fencing.Token, before int64, what string) {
	c.t.Helper()
	require.GreaterOrEqual(c.t, got, want, what)
	require.LessOrEqual(c.t, got, want+fencing.Token(c.mayCount.Load()-before), what)
}

// unchanged demands that the resource is as the vote before says, which was requested at the
// moment from or later. counted is what mayCount was then.
func (c *check) unchanged(name string, before wire.Vote, from time.Time, counted int64) {
	c.t.Helper()
	after := c.do(c.look(name))
	took := c.clock.Since(from)
	require.Equal(c.t, before.Outcome, after.Outcome, "held or free has changed")
	require.Equal(c.t, before.Holder, after.Holder, "the holder has changed")
	c.counts(before.Token, after.Token, counted, "the counter has changed")
	if before.Remaining <= 0 {
		require.Equal(c.t, before.Remaining, after.Remaining, "the key's time has changed")
		return
	}
	require.LessOrEqual(c.t, after.Remaining, before.Remaining, "the key's time was prolonged")
	require.GreaterOrEqual(c.t, after.Remaining, before.Remaining-took-grain, "the key's time was cut short")
}

// held demands that the key has the value, and a remaining time of about ttl, set by a request
// that was sent at the moment sent. It returns the counter.
func (c *check) held(name, value string, ttl time.Duration, sent time.Time) fencing.Token {
	c.t.Helper()
	vote := c.do(c.look(name))
	require.Equal(c.t, wire.Refused, vote.Outcome, "the key is free")
	require.Equal(c.t, value, vote.Holder, "the holder")
	c.hasLeft(vote.Remaining, ttl, sent)
	return vote.Token
}

func (c *check) hasLeft(remaining, ttl time.Duration, sent time.Time) {
	c.t.Helper()
	require.LessOrEqual(c.t, remaining, ttl, "the key expires too late")
	require.GreaterOrEqual(c.t, remaining, ttl-c.clock.Since(sent)-grain, "the key expires too early")
}

// free demands that the key is free, and returns the counter.
func (c *check) free(name string) fencing.Token {
	c.t.Helper()
	vote := c.do(c.look(name))
	require.Equal(c.t, wire.Granted, vote.Outcome, "the key is held by %q", vote.Holder)
	return vote.Token
}

// awaitFree waits until the key has expired.
func (c *check) awaitFree(name string) {
	c.t.Helper()
	for until := c.clock.Now().Add(patience); c.do(c.look(name)).Outcome == wire.Refused; {
		require.True(c.t, c.clock.Now().Before(until), "%q didn't expire", c.key(name))
		c.clock.Sleep(time.Millisecond)
	}
}

// expire sets the key to the value and waits until it has expired.
func (c *check) expire(name, value string) fencing.Token {
	c.t.Helper()
	cmd := c.acquire(name, value)
	cmd.TTL = 5 * time.Millisecond
	token := c.granted(cmd).Token
	c.awaitFree(name)
	return token
}

// keysGranted is what Vote.Keys should be.
func keysGranted(cmd wire.Request, vote wire.Vote) int {
	if len(cmd.Also) == 0 || vote.Outcome != wire.Granted {
		return 0
	}
	return 1 + len(cmd.Also)
}

// wellFormed says what is wrong with a vote in any state of the server: fields of another
// operation or outcome must be zero.
func wellFormed(cmd wire.Request, vote wire.Vote) error {
	var (
		answered   = vote.Outcome == wire.Granted || vote.Outcome == wire.Refused
		refused    = vote.Outcome == wire.Refused
		acquired   = cmd.Op == wire.Acquire && cmd.Fence.On && vote.Outcome == wire.Granted
		looked     = cmd.Op == wire.Look && answered
		clockAsked = cmd.Clock || cmd.Op == wire.Tick
		mismatch   *wire.SetMismatchError
	)
	switch {
	case vote.Outcome > wire.Refused:
		return errors.New("the outcome is none of the three")
	case vote.Outcome == wire.Failed && vote.Err == nil:
		return errors.New("a failed vote doesn't say why")
	case vote.Outcome == wire.Granted && vote.Err != nil:
		return errors.New("a granted vote has an error: " + vote.Err.Error())
	case refused && vote.Err != nil && !(cmd.Op == wire.Acquire && cmd.Fence.On && errors.As(vote.Err, &mismatch)):
		return errors.New("a refused vote has another error than *SetMismatchError of an Acquire with Fence: " + vote.Err.Error())
	case answered && vote.Unsent:
		return errors.New("a vote that was answered says that it was never sent")
	case int(vote.Keys) != keysGranted(cmd, vote):
		return fmt.Errorf("the vote is about %d keys, and the request about %d", vote.Keys, 1+len(cmd.Also))
	case vote.InTheWay != 0 && !(refused && cmd.Op == wire.Acquire && int(vote.InTheWay) <= 1+len(cmd.Also) && len(cmd.Also) > 0):
		return fmt.Errorf("key %d is said to be in the way", vote.InTheWay)
	case vote.Token != 0 && !acquired && !(looked && cmd.Fence.On):
		return errors.New("a token that was not asked for: " + vote.Token.String())
	case acquired && !vote.Token.Valid():
		return errors.New("the token can't be carried by a lease: " + vote.Token.String())
	case vote.Reserved != 0 && !acquired || vote.Reserved < 0 || vote.Reserved > cmd.Fence.Reserve:
		return fmt.Errorf("%d tokens are reserved, of %d that were asked for", vote.Reserved, cmd.Fence.Reserve)
	case vote.Reserved != 0 && !vote.Clock.IsZero() && int64(vote.Token) > vote.Clock.UnixMicro():
		return errors.New("tokens are reserved beyond the clock, up to " + vote.Token.String())
	case vote.Replaced && !(cmd.Op == wire.Acquire && cmd.Replace != "" && vote.Outcome == wire.Granted):
		return errors.New("a value was replaced without a request")
	case vote.Notified && !(answered && (cmd.Op == wire.Dequeue || cmd.Op == wire.Release && cmd.Notify)):
		return errors.New("a waiter was notified by a request that notifies nobody")
	case vote.Holder != "" && !(refused && (looked || cmd.Op == wire.Acquire)):
		return errors.New("a holder that was not asked for")
	case looked && refused && vote.Holder == "":
		return errors.New("a held key without a holder")
	case vote.Remaining != 0 && !(refused && (looked || cmd.Op == wire.Acquire)):
		return errors.New("a remaining time although no key prevents the grant")
	case vote.Remaining < 0 && vote.Remaining != wire.NoExpiry:
		return errors.New("a negative remaining time: " + vote.Remaining.String())
	case !vote.Clock.IsZero() && !clockAsked:
		return errors.New("a clock that was not asked for")
	case vote.Clock.IsZero() && answered && clockAsked:
		return errors.New("no clock, though it was asked for")
	}
	return nil
}
