package instance

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// call is one command on its way through a pipe, or one Probe: what is asked, who
// waits for it, and the vote.
//
// Calls are used again. One belongs to its pipe until it has ended; one that ended
// before the exchange it was in is left to the collector, for go-redis may still
// read it.
type call struct {
	cmd      wire.Request
	waiter   wire.Waiter // of Enqueue and Dequeue
	deadline time.Time   // zero: none
	stale    time.Time   // from when on it isn't worth sending, zero: it always is
	vote     wire.Vote
	to       wire.Receiver

	// Written under the pipe's lock.
	stage stage
	in    *batch // what it is or was sent with last
	at    int    // its place in pipe.timed, -1 if it isn't there

	// What an answer said that is a reason to send it again, in another way.
	resend bool // it is to be sent again
	byText bool // the server lacks the script
	byLua  bool // the server lacks the dialect's own command
	alone  bool // the list it was in was refused for one of its keys
	quiet  bool // the user may not look at the line of waiters
	waking bool // it looks there

	ttl     int64 // milliseconds
	quarter int64 // of the counter's, rounded up
	token   uint64
	spare   int64
	ahead   int64 // microseconds
	counter bytesArg
	set     bytesArg
	waiters bytesArg
	pttl    *ask // of a bare SET

	probing bool
	before  wire.Known // what a Probe's client knew
	answers []ask      // to a Probe
}

// stage is how far a call has come.
type stage uint8

const (
	// waiting: it is in the pipe's line.
	waiting stage = iota
	// aboard: it is a part of an exchange, written or not (batch.sealed). It becomes
	// waiting again only if it was not, or the server said that it did nothing.
	aboard
	// ended: its vote was given, or nobody waits for it.
	ended
)

const (
	// maxReply is the longest answer to a command, in bytes: far longer than any that a
	// server gives.
	maxReply = 64 << 10
	// maxElement is how much longer it is for each lock of a list: the longest text that
	// grant.lua repeats, and what is around it.
	maxElement = 512 + 16
)

// bytesArg is an argument that lies in a buffer.
type bytesArg struct{ b []byte }

// MarshalBinary gives the bytes to go-redis.
func (a *bytesArg) MarshalBinary() ([]byte, error) { return a.b, nil }

// String gives the bytes to go-redis's hooks.
func (a *bytesArg) String() string { return string(a.b) }

func (r *Redis) newCall(cmd wire.Request) *call {
	c, _ := r.calls.Get().(*call)
	if c == nil {
		c = new(call)
	}
	c.cmd, c.at = cmd, -1
	c.ttl = cmd.TTL.Milliseconds()
	c.quarter = (cmd.Fence.TTL.Milliseconds() + 3) / 4
	c.token = uint64(cmd.Fence.Token)
	c.spare, c.ahead = int64(cmd.Fence.Reserve), cmd.Fence.Ahead.Microseconds()
	return c
}

// recycle takes a call back that nobody has any more.
func (r *Redis) recycle(c *call) {
	*c = call{counter: c.counter, set: c.set, waiters: c.waiters}
	r.calls.Put(c)
}

// marks is how many marks the command's script has to look at, the last of its keys: 1
// where the run has an epoch. A user without the right to the mark's key isn't asked for it.
func (c *call) marks() int {
	if c.cmd.Run.Epoch() == "" {
		return 0
	}
	return 1
}

func (c *call) counterKey() *bytesArg { return c.beside(&c.counter, counterSuffix) }
func (c *call) setKey() *bytesArg     { return c.beside(&c.set, setSuffix) }
func (c *call) waitersKey() *bytesArg { return c.beside(&c.waiters, waitersSuffix) }

// beside writes the name of a key in the lock's slot, which starts with a brace.
func (c *call) beside(a *bytesArg, suffix string) *bytesArg {
	a.b = append(append(append(a.b[:0], '{'), c.cmd.Key...), suffix...)
	return a
}

// writes reports whether replicas have to have it before it counts.
func (c *call) writes() bool {
	switch c.cmd.Op {
	case wire.Acquire, wire.Raise, wire.Extend, wire.Restore:
		return true
	default:
		return false
	}
}

// fail gives it the vote of a command without a usable answer.
func (c *call) fail(err error) {
	//guard:unsent-is-certain  only a command that was never written counts as unsent
	c.vote = wire.Vote{Outcome: wire.Failed, Unsent: !c.in.sealed, Err: err}
}

// turnedDown is for a command that the server answered with an error. If it would
// have set the lock's key, and the server certainly didn't begin with it, nothing
// has to be deleted: as if it had never been sent. Without this a server whose
// memory is full would be owed a delete for every lock that is taken.
//
// sent is the command that was answered, empty where a script handed the error on.
func (c *call) turnedDown(text, sent string) {
	if other := runError(text, c.cmd.Run); other != nil {
		c.vote = wire.Vote{Unsent: true, Err: other}
		return
	}
	if counter := counterError(text, &c.cmd); counter != nil {
		c.fail(counter)
	} else {
		c.fail(serverError(text))
	}
	if (c.cmd.Op == wire.Acquire || c.cmd.Op == wire.Restore) && nothingDone(text, sent) {
		c.vote.Unsent = true
	}
}

// garbled is for a command whose answer has the wrong form.
func (c *call) garbled(s *sink) {
	c.fail(fmt.Errorf("%w: %v answered %.60q", ErrReply, c.cmd.Op, s.raw))
}

// take gives it the vote that a script's answer is.
func (c *call) take(a answer) {
	c.vote = wire.Vote{Outcome: wire.Refused}
	if c.cmd.Clock {
		c.vote.Clock = a.clock
	}
	//guard:outcome-as-answered  only a script's grant is read as a grant
	if a.outcome == scriptGranted || a.outcome == scriptReplaced {
		c.vote.Outcome = wire.Granted
	}
	switch c.cmd.Op {
	case wire.Release, wire.Dequeue:
		c.vote.Notified = a.token == 1
	case wire.Acquire:
		switch a.outcome {
		case scriptGranted, scriptReplaced:
			c.vote.Replaced = a.outcome == scriptReplaced
			c.vote.Token = fencing.Token(a.token)
			switch {
			case !c.cmd.Fence.On:
			case !c.vote.Token.Valid():
				c.fail(fmt.Errorf("%w: the server counted to %d", wire.ErrCounter, a.token))
			case a.ttl < 0 || a.ttl > c.spare:
				c.fail(fmt.Errorf("%w: the server reserved %d tokens of %d", ErrReply, a.ttl, c.spare))
			default:
				c.vote.Reserved = int(a.ttl)
			}
		case scriptRefused:
			c.vote.Remaining = remaining(a.ttl)
		case scriptOtherSet:
			c.vote.Err = &wire.SetMismatchError{Mine: c.cmd.Fence.Set, Theirs: string(a.text)}
		}
	case wire.Look:
		c.vote.Token = fencing.Token(a.token)
		if a.outcome == scriptRefused {
			c.vote.Holder, c.vote.Remaining = string(a.text), remaining(a.ttl)
		}
	}
}

// remaining reads PTTL's answer.
func remaining(ms int64) time.Duration {
	switch {
	case ms == -1:
		return wire.NoExpiry
	case ms <= 0:
		return 0
	case ms > int64(1<<63-1)/int64(time.Millisecond):
		return 1<<63 - 1
	default:
		return time.Duration(ms) * time.Millisecond
	}
}
