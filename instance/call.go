package instance

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// call is one request, or one Probe, on its way through the pipe: the request, its
// receiver, and the vote.
//
// Calls are reused. The pipe owns a call until it is done. A call that is done before its
// batch has ended is left to the garbage collector, because go-redis may still read it.
type call struct {
	req      wire.Request
	waiter   wire.Waiter // of Enqueue and Dequeue
	deadline time.Time   // zero: none
	stale    time.Time   // from then on it is not worth sending; zero: always worth it
	vote     wire.Vote
	to       wire.Receiver
	prefix   string // in front of all keys

	// Guarded by the pipe's lock.
	state callState
	in    *batch // the last batch that it was in
	index int    // in pipe.pending, -1 if it isn't there

	// What a reply said that is a reason to send the request again in another way.
	resend       bool // send it again
	useEval      bool // the server doesn't have the script
	ownCommand   bool // the server refused the list it was in because of one of its keys
	cannotNotify bool // the user may not use the wait queue
	notifies     bool // it uses the wait queue

	// The arguments of its commands. go-redis gets pointers to them, which costs no
	// allocation.
	ttl     int64 // milliseconds
	quarter int64 // of the counter's TTL, rounded up, in milliseconds
	token   uint64
	reserve int64
	ahead   int64 // microseconds
	counter bytesArg
	set     bytesArg
	waiters bytesArg

	probing bool
	known   wire.Known // what a Probe's client knew
	replies []command  // to a Probe
}

// callState is how far a call has come.
type callState uint8

const (
	// queued: it is in the pipe's queue.
	queued callState = iota
	// inBatch: it is in a batch, written or not (batch.written). It becomes queued again
	// only if the batch was not written, or if the server said that it did nothing.
	inBatch
	// done: its vote was given, or nobody waits for it.
	done
)

const (
	// maxReply is the longest reply to a command, in bytes: far longer than any that a
	// server sends.
	maxReply = 64 << 10
	// maxElement is how much longer the reply of acquire.lua may be for each request: a value of
	// maxValue bytes, or an error, and the numbers.
	maxElement = maxValue + 256
	// maxValue is where scripts cut the value of a key that is in the way.
	maxValue = 16384
)

// bytesArg is an argument in a reused buffer.
type bytesArg struct{ b []byte }

// MarshalBinary returns the bytes to go-redis.
func (a *bytesArg) MarshalBinary() ([]byte, error) { return a.b, nil }

// String returns the bytes to go-redis's hooks.
func (a *bytesArg) String() string { return string(a.b) }

func (r *Redis) newCall(req wire.Request) *call {
	c, _ := r.calls.Get().(*call)
	if c == nil {
		c = new(call)
	}
	c.req, c.index, c.prefix = req, -1, r.prefix
	c.ttl = req.TTL.Milliseconds()
	c.quarter = (req.Fence.TTL.Milliseconds() + 3) / 4
	c.token = uint64(req.Fence.Token)
	c.reserve, c.ahead = int64(req.Fence.Reserve), req.Fence.Ahead.Microseconds()
	return c
}

// recycle keeps a call for reuse. Nothing may refer to it any more.
func (r *Redis) recycle(c *call) {
	*c = call{counter: c.counter, set: c.set, waiters: c.waiters}
	r.calls.Put(c)
}

// keys is how many locks the request is about.
func (c *call) keys() int { return 1 + len(c.req.Also) }

// locksOf is how many locks calls are about.
func locksOf(calls []*call) int {
	n := 0
	for _, c := range calls {
		n += c.keys()
	}
	return n
}

// appendKeys appends the locks' keys.
func (c *call) appendKeys(args []any) []any {
	args = append(args, c.lockKey(&c.req.Key))
	for i := range c.req.Also {
		args = append(args, c.lockKey(&c.req.Also[i]))
	}
	return args
}

// lockKey is the argument for a lock's key.
func (c *call) lockKey(key *string) any {
	if c.prefix == "" {
		return key
	}
	return c.prefix + *key
}

// appendBeside appends the keys beside the locks' keys: first is the first lock's, and other names
// that of another.
func (c *call) appendBeside(args []any, first *bytesArg, other func(string) string) []any {
	args = append(args, first)
	for _, key := range c.req.Also {
		args = append(args, c.prefix+other(key))
	}
	return args
}

// appendEach appends an argument for each of the locks.
func (c *call) appendEach(args []any, arg any) []any {
	for range c.keys() {
		args = append(args, arg)
	}
	return args
}

// marks is the number of marks among the keys of the call's script: 1 if the run has an
// epoch. A user without the right to the mark's key has a run without an epoch.
func (c *call) marks() int {
	if c.req.Run.Epoch() == "" {
		return 0
	}
	return 1
}

func (c *call) counterKey() *bytesArg { return c.beside(&c.counter, counterSuffix) }
func (c *call) setKey() *bytesArg     { return c.beside(&c.set, setSuffix) }
func (c *call) waitersKey() *bytesArg { return c.beside(&c.waiters, waitersSuffix) }

// beside writes the name of another key in the lock's slot.
func (c *call) beside(a *bytesArg, suffix string) *bytesArg {
	a.b = append(append(append(append(a.b[:0], c.prefix...), '{'), c.req.Key...), suffix...)
	return a
}

// writes reports whether its grant counts only once replicas have it.
func (c *call) writes() bool {
	switch c.req.Op {
	case wire.Acquire, wire.Raise, wire.Extend, wire.Restore:
		return true
	default:
		return false
	}
}

// fail sets the vote of a request without a usable reply.
func (c *call) fail(err error) {
	//guard:unsent-is-certain  only a request that was never written counts as unsent
	c.vote = wire.Vote{Outcome: wire.Failed, Unsent: !c.in.written, Err: err}
}

// rejected sets the vote of a request to which the server replied with an error. If the
// request would have set the lock's key, and the server certainly did not begin with it, it
// counts as unsent: nothing has to be deleted. Otherwise a server whose memory is full
// would leave a pending delete for every acquisition.
//
// sent is the name of the command that failed, empty if a script handed the error on.
func (c *call) rejected(text, sent string) {
	if other := runError(text, c.req.Run); other != nil {
		c.vote = wire.Vote{Unsent: true, Err: other}
		return
	}
	if counter := counterError(text, &c.req, c.prefix); counter != nil {
		c.fail(counter)
	} else {
		c.fail(moving(serverError(text), c.prefix))
	}
	if c.req.Op == wire.Acquire || c.req.Op == wire.Restore {
		c.vote.Unsent = nothingDone(text, sent)
	}
}

// malformed sets the vote of a request whose reply has the wrong form.
func (c *call) malformed(reply *replyBuffer) {
	c.fail(fmt.Errorf("%w: %v answered %.60q", ErrReply, c.req.Op, reply.raw))
}

// take sets the vote from a script's result.
func (c *call) take(a result) {
	c.vote = wire.Vote{Outcome: wire.Refused}
	if c.req.Clock {
		c.vote.Clock = a.clock
	}
	//guard:outcome-as-answered  only a script's grant is read as a grant
	if a.outcome == scriptGranted || a.outcome == scriptReplaced {
		c.vote.Outcome = wire.Granted
		if c.keys() > 1 {
			c.vote.Keys = uint8(c.keys())
		}
	}
	switch c.req.Op {
	case wire.Release, wire.Dequeue:
		c.vote.Notified = a.token == 1
	case wire.Acquire:
		c.takeAcquired(a)
	case wire.Look:
		c.vote.Token = fencing.Token(a.token)
		if a.outcome == scriptRefused {
			c.vote.Holder, c.vote.Remaining = string(a.text), remaining(a.ttl)
		}
	}
}

// takeAcquired sets the rest of the vote on an acquisition.
func (c *call) takeAcquired(a result) {
	switch a.outcome {
	case scriptGranted, scriptReplaced:
		c.vote.Replaced = a.outcome == scriptReplaced
		if !c.req.Fence.On {
			return
		}
		c.vote.Token, c.vote.Reserved = fencing.Token(a.token), int(a.ttl)
		switch {
		case !c.vote.Token.Valid():
			c.fail(fmt.Errorf("%w: the server counted to %d", wire.ErrCounter, a.token))
		case a.ttl < 0 || a.ttl > c.reserve:
			c.fail(fmt.Errorf("%w: the server reserved %d tokens of %d", ErrReply, a.ttl, c.reserve))
		}
	case scriptRefused, scriptOtherSet:
		if c.keys() > 1 && a.token >= 1 && a.token <= int64(c.keys()) {
			c.vote.InTheWay = uint8(a.token)
		}
		if a.outcome == scriptOtherSet {
			c.vote.Err = &wire.SetMismatchError{Mine: c.req.Fence.Set, Theirs: string(a.text)}
		} else {
			c.vote.Holder, c.vote.Remaining = string(a.text), remaining(a.ttl)
		}
	}
}

// remaining reads PTTL's reply.
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

// callQueue holds the calls that wait to be sent, first come, first served within each
// rank. The pipe's lock guards it.
//
// Calls about leases that are held go before acquisitions, however long those have waited:
// a lease that is extended too late is lost, a lock that is acquired later is only later.
// So an extension waits for the batch in flight and for other extensions, and for nothing
// else.
//
// Held leases don't starve acquisitions while the server keeps up. A lease has at most one
// request at a time at an instance, and is extended a few times in its TTL. There are no
// more releases and raises than acquisitions, because each follows one. If the extensions
// alone are as much as the server can carry out, it cannot keep more leases, and no more
// should be granted.
//
// The order of the requests about one lease doesn't depend on this queue: each is sent
// after the one before has ended.
type callQueue [ranks][]*call

// The ranks, in the order in which calls are sent.
const (
	// rankKeep: requests that keep a lease, and a Probe, because such a request may have to
	// wait for it.
	rankKeep = iota
	// rankRelease: a release, which may be one of many after lost rounds.
	rankRelease
	// rankAcquire: an acquisition, or a hint.
	rankAcquire
	ranks
)

func (c *call) rank() int {
	switch {
	case c.probing:
		return rankKeep
	case !c.req.Op.Held():
		//guard:acquisitions-last  at each instance extensions go before acquisitions
		return rankAcquire
	//guard:extensions-first  at each instance extensions go before releases
	case c.req.Op == wire.Release:
		return rankRelease
	default:
		return rankKeep
	}
}

func (q *callQueue) len() int {
	return len(q[rankKeep]) + len(q[rankRelease]) + len(q[rankAcquire])
}

func (q *callQueue) add(c *call) { q[c.rank()] = append(q[c.rank()], c) }

// addFirst puts calls that have to be sent again in front of their ranks, in order.
func (q *callQueue) addFirst(calls []*call) {
	for _, c := range slices.Backward(calls) {
		q[c.rank()] = slices.Insert(q[c.rank()], 0, c)
	}
}

// take moves calls to the next batch, in order, up to maxBatch. With replicas to wait for it
// takes only calls that have to be replicated, or only calls that don't.
func (q *callQueue) take(calls []*call, replicated bool) []*call {
	for rank, queue := range q {
		rest := queue[:0]
		for _, c := range queue {
			apart := len(calls) > 0 && replicated && c.writes() != calls[0].writes()
			if apart || len(calls) == maxBatch {
				rest = append(rest, c)
				continue
			}
			calls = append(calls, c)
		}
		clear(queue[len(rest):])
		q[rank] = rest
	}
	return calls
}

// takeAll empties the queue.
func (q *callQueue) takeAll() []*call {
	all := slices.Concat(q[:]...)
	*q = callQueue{}
	return all
}

func (q *callQueue) remove(c *call) {
	q[c.rank()] = slices.DeleteFunc(q[c.rank()], func(other *call) bool { return other == c })
}

// dropStale drops calls that are not worth sending any more, see call.stale.
func (q *callQueue) dropStale(now time.Time) {
	stale := func(c *call) bool { return !c.stale.IsZero() && now.After(c.stale) }
	for rank, queue := range q {
		if len(queue) > 0 && stale(queue[0]) {
			q[rank] = slices.DeleteFunc(queue, stale)
		}
	}
}

// dropDone drops calls whose vote was given.
func (q *callQueue) dropDone() {
	for rank, queue := range q {
		q[rank] = slices.DeleteFunc(queue, func(c *call) bool { return c.state == done })
	}
}
