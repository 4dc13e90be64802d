package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// call is one request on its way through the pipe, or the commands of a Probe.
//
// The pipe owns a call until its vote is given. A call whose time was over before its exchange has
// ended is left to the garbage collector, because the exchange may still read it.
type call struct {
	req      wire.Request
	to       wire.Receiver
	deadline time.Time // zero: none
	stale    time.Time // from then on it isn't worth sending; zero: always worth it
	vote     wire.Vote

	// commands are a Probe's. The mark's key is that of the connection, see link.
	commands func(markKey string) []redis.Cmder

	// Guarded by the pipe's lock.
	written bool      // its commands may have reached the server
	voted   bool      // its vote was given, or nobody waits for it
	refusal wire.Vote // what it was answered, if it asks who holds the lock

	// Only the exchange that it is in reads and sets the rest.
	again       bool    // it has to be sent once more
	alone       bool    // and that alone, because the server refused those that were sent together
	looks       bool    // it was refused, and has to ask who holds the lock
	unnotified  bool    // a release that was denied with its wait queues, and is sent without them
	slots       []*slot // of an acquisition, one for each key
	deletesLate bool    // its deletes come after an earlier acquisition in its transaction, see transaction.deletes
	replaced    bool    // each key had one of the values in Delete
	left        bool    // some of several keys may be left, see undo.lua
}

// fail sets the vote of a request that may have been carried out.
func (c *call) fail(err error) { c.vote = wire.Vote{Err: err} }

// unsent sets the vote of a request that certainly changed nothing.
func (c *call) unsent(err error) { c.vote = wire.Vote{Unsent: true, Err: err} }

// replicated reports whether its grant counts only once replicas have it.
func (c *call) replicated() bool {
	switch c.req.Op {
	case wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Pass:
		return !c.looks && c.commands == nil
	}
	return false
}

// ended is the vote of a call that ends without an answer. An exchange may be at work on it: then only
// what the pipe's lock guards is read.
func (c *call) ended(why error) wire.Vote {
	if c.refusal.Outcome == wire.Refused {
		return c.refusal // who holds the lock isn't known
	}
	//guard:unsent-is-certain  only a request that was never written counts as unsent
	return wire.Vote{Unsent: !c.written, Err: why}
}

// errLate is the end of a request's timeout.
var errLate = fmt.Errorf("instance: no answer before the request's time was over: %w", context.DeadlineExceeded)

// The ranks of requests, in the order in which they are sent. A lease that is extended too late is lost, a lock
// that is acquired later is only later. Held leases don't starve acquisitions while the server keeps up: each has
// at most one request at a time at an instance, and there are no more releases and raises than acquisitions.
const (
	rankKeep    = iota // keeps a lease, or is a Probe, for which such a request may have to wait
	rankRelease        // deletes a lease, perhaps one of many after lost rounds
	rankAcquire        // acquires a lock, or is a hint
	ranks
)

func (c *call) rank() int {
	switch {
	case c.commands != nil:
		return rankKeep
	case !c.req.Op.Held():
		//guard:acquisitions-last  at each instance extensions go before acquisitions
		return rankAcquire
	case c.req.Op == wire.Release:
		return rankRelease
	default:
		return rankKeep
	}
}
