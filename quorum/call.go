package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// call is one request to one server, until its answer is known. It takes no goroutine, unless a connection
// must be made or the server be probed first.
//
// What the answer is for follows from the operation. An Acquire would set a new key, so it is sent only if
// the server may vote. A Raise, an Extend or a Pass is about a key that the server has, so it is sent anyway, and its
// grant counts on the same conditions. A Restore is sent anyway, and never counts. No grant of another operation has any
// further effect, so send adds no run to such a request. A Look is sent to a server that is known, though: a server
// under two names would count twice, and a replica may be behind.
//
// Each call has a timeout of its own, and nothing else ends it: an error of one server must not cost the vote of
// another. The Coordinator's background counts it until it has ended.
type call struct {
	s       *server
	req     *wire.Request // send completes a copy; several calls may have the same
	timeout time.Duration
	about   sequence     // the value that it is about, nil if it is about none
	to      taker        // takes the call when it has ended; nil if nobody waits
	of      int          // the number of its extension among several
	waits   atomic.Int32 // for how many earlier values, see value.sendAfter

	began, sent drift.Instant
	run         wire.Run      // of the server; see namesRun
	floor       fencing.Token // that an Acquire names, see Fence.Floor
	repeated    bool          // it was sent once more, because another run had answered
	skipped     bool          // it was pointless, and not sent
	carriedOut  bool          // the server granted it, whether or not the grant counts
	ballot      Ballot        // the answer
	taken       bool          // the round has it; guarded by its lock
}

// taker takes calls that have ended, on a goroutine that other answers wait for.
type taker interface{ take(c *call) }

// sequence is the value that a call is about, as the call knows it: it has its calls to each server begin one after
// the other.
type sequence interface {
	// begin begins a call at its turn. now is as in call.start.
	begin(c *call, now drift.Instant)
	// answered takes in a call's answer, before its taker.
	answered(c *call)
	// next begins what waits for a call's end, after its taker.
	next(i int)
}

// inbox is a taker that has room for all of its calls.
type inbox chan *call

func (in inbox) take(c *call) { in <- c }

// namesRun reports whether the request is for one run of the server alone, because it is about a lease's keys.
func (c *call) namesRun() bool {
	switch c.req.Op {
	case wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Pass:
		return true
	}
	return false
}

// identifies reports whether the server must be known before it is asked.
func (c *call) identifies() bool { return c.namesRun() || c.req.Op == wire.Look }

// shares reports whether the request is about locks that clients of other sets may have.
func (c *call) shares() bool { return c.req.Op == wire.Acquire || c.req.Op == wire.Look }

// start sends the request. It doesn't block. now is the present, read before anything is sent, so that the
// timeout counts from no later than this; or the zero Instant if the clocks have yet to be read.
func (c *call) start(now drift.Instant) {
	s, op := c.s, c.req.Op
	if c.began = now; now == (drift.Instant{}) {
		c.began = s.reader.Now()
	}
	if c.timeout == 0 {
		c.timeout = s.cfg.InstanceTimeout
	}
	var st standing
	s.mu.Lock()
	s.unanswered++
	err := s.overloaded(op, s.unanswered)
	if err == nil && c.identifies() {
		st = s.standingLocked(c.began)
	}
	s.mu.Unlock()
	if err == nil && op == wire.Acquire {
		err = s.deletes.full()
	}
	switch {
	case err != nil:
		c.fail(err)
	case op == wire.Acquire && st.identified && st.err != nil:
		c.fail(st.err)
	case !s.connected():
		go c.connect()
	case !c.identifies():
		c.send(st, c.began)
	case !st.identified, c.shares() && st.otherSet:
		go c.probe(false)
	default:
		c.send(st, c.began)
	}
}

// connect waits for a connection before the request is sent. Until the server has been
// asked once it isn't late, so its timeouts count from then. Otherwise a client far away
// would lose the first round after each pause.
func (c *call) connect() {
	switch err := c.s.connect(context.Background()); {
	case err != nil:
		c.fail(err)
	case c.identifies():
		c.probe(true)
	default:
		c.began = c.s.reader.Now()
		c.send(standing{}, c.began)
	}
}

// probe probes the server before the request is sent, if it is unknown. fresh says that the
// connection was made for this request: then each of the two has a timeout of its own.
func (c *call) probe(fresh bool) {
	ctx, cancel := c.s.clock.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	st, err := c.s.identified(ctx, c.shares())
	if err == nil && c.req.Op == wire.Acquire {
		err = st.err
	}
	if err != nil {
		c.fail(err)
		return
	}
	now := c.s.reader.Now()
	if fresh {
		c.began = now
	}
	c.send(st, now)
}

// send sends the request, for the run of the server that was found, with the rest of the timeout.
func (c *call) send(st standing, now drift.Instant) {
	left := c.timeout
	if now != c.began {
		left = max(left-drift.Elapsed(c.began, now), 1)
	}
	c.sent = now
	req := *c.req
	c.run = st.run
	if c.namesRun() {
		//guard:run-is-sent  every command names the run that it is meant for
		req.Run = st.run
	}
	if req.Op == wire.Acquire {
		c.floor, req.Fence.Floor = st.floor, st.floor
		// A resumption has the lease's value here, and deletes it alone, so that an instance without it can't count.
		//guard:own-values-are-deleted  an acquisition first deletes the values that this client is deleting anyway
		if req.Delete == nil {
			req.Delete = c.s.deletes.before(&req)
		}
	}
	req.Clock = req.Clock || c.s.wantsClock(req.Op)
	//guard:instance-timeout  no instance is waited for longer than InstanceTimeout
	c.s.inst.Send(req, left, c)
}

// Receive takes in the answer.
func (c *call) Receive(vote wire.Vote) {
	s, received := c.s, c.s.reader.Now()
	s.learn(&vote, c.timeout, c.sent, received)
	c.ballot = Ballot{Vote: vote, Latency: drift.Elapsed(c.sent, received)}
	if !c.namesRun() {
		c.end()
		return
	}
	if c.req.Op == wire.Acquire && vote.Holder != "" {
		// The whole value would let the reader of the error release the holder's lock.
		c.ballot.Vote.Holder = shortValue(vote.Holder)
	}
	other := otherRun(vote.Err)
	switch {
	case errors.Is(vote.Err, ErrSetMismatch):
		s.noteOtherSet(vote.Err)
	case other != nil:
		s.answeredBy(other)
		go c.probeAfter(received)
		return
	case vote.Outcome == wire.Failed && c.run != "" && permanent(vote.Err):
		// The user may have lost the right to read the run, which the request names.
		s.forget()
	case vote.Outcome == wire.Refused:
		// A refusal shows that the server was there then, so that no older mark of another server counts.
		s.saw(received)
	case vote.Outcome == wire.Granted:
		c.carriedOut = true
		err := c.implausible()
		if err == nil && c.req.Op != wire.Restore { // a restored key is no vote
			//guard:grant-checked-on-arrival  a grant counts only if no other run was found since it was asked for
			err = s.acceptGrant(c.run, c.sent, received)
		}
		if err != nil {
			// Not Unsent: the key is there and has to be deleted.
			c.ballot.Vote = wire.Vote{Err: err}
		}
	}
	c.end()
}

// probeAfter probes the server after another run answered, so that the next request can name
// that run, and this request's error says what was found. A request about a key that may be
// there is sent once more, because a server that was restarted may have kept the key. An Acquire isn't: its
// key may have been set in that other run, and would refuse it.
func (c *call) probeAfter(received drift.Instant) {
	ctx, cancel := c.s.clock.WithTimeout(context.Background(), max(c.timeout-drift.Elapsed(c.began, received), 1))
	defer cancel()
	st, err := c.s.identified(ctx, c.shares())
	switch {
	case err == nil && c.req.Op != wire.Acquire && !c.repeated:
		c.repeated = true
		c.send(st, c.s.reader.Now())
		return
	case err == nil:
		err = st.err
	}
	if err != nil {
		c.ballot.Vote.Err = probedError{c.s.hideTimeout(err, c.timeout), c.ballot.Vote.Err}
	}
	c.end()
}

// probedError is why the vote of a server that was found in another run doesn't count: what the probe found says more
// than that.
type probedError struct {
	error
	run error
}

func (e probedError) Unwrap() []error { return []error{e.error, e.run} }

// otherRun returns the RunError in an error, nil if there is none.
func otherRun(err error) *wire.RunError {
	if err == nil {
		return nil // nearly always
	}
	other, _ := errors.AsType[*wire.RunError](err)
	return other
}

// implausible says why a grant has impossible tokens, or is of other keys.
func (c *call) implausible() error {
	vote, fence := &c.ballot.Vote, &c.req.Fence
	if n := len(c.req.Keys); n > 1 && int(vote.Keys) != n {
		return fmt.Errorf("%w: it granted %d keys of %d; the Instance must grant all of wire.Request.Keys", ErrConfig, vote.Keys, n)
	}
	if c.req.Op != wire.Acquire || !fence.On {
		return nil
	}
	told := !vote.Clock.IsZero()
	switch {
	case !vote.Token.Valid():
		return fmt.Errorf("it granted with the token %d, which is no token", vote.Token)
	//guard:grant-within-the-bound  a grant with a token that is too far ahead of the server's clock is no grant
	case told && int64(vote.Token) > vote.Clock.Add(fence.Ahead).UnixMicro():
		return &wire.CounterError{Token: vote.Token, Clock: vote.Clock, Most: fence.Ahead}
	case told && vote.Token <= c.floor && int64(vote.Token) <= vote.Clock.UnixMicro():
		return fmt.Errorf("%w: it granted with the token %d, but tokens that it gave before may have reached %d", ErrConfig, vote.Token, c.floor)
	}
	return nil
}

// fail ends the call before it was sent.
func (c *call) fail(err error) {
	c.ballot = Ballot{Vote: wire.Vote{Unsent: true, Err: c.s.hideTimeout(err, c.timeout)}, Latency: drift.Elapsed(c.began, c.s.reader.Now())}
	c.end()
}

// end gives the answer to whoever waits for it. Other answers wait for this goroutine.
func (c *call) end() {
	s := c.s
	s.mu.Lock()
	s.unanswered--
	s.mu.Unlock()
	c.ended()
}

// ended is end for a call that was not started.
func (c *call) ended() {
	c.ballot.Instance = c.s.name
	if c.about != nil {
		c.about.answered(c)
	}
	if c.to != nil {
		c.to.take(c)
	}
	if c.about != nil {
		c.about.next(c.s.index)
	}
	c.s.background.finish()
}

// ask sends a request that is about no value of a round, and waits for the answer. A grant has no further effect.
func (s *server) ask(req *wire.Request) Ballot { return (&call{s: s, req: req}).await() }

// await starts the call and waits for the answer, which comes soon, because every request is under a timeout.
func (c *call) await() Ballot {
	answer := make(inbox, 1)
	c.to = answer
	c.s.background.add()
	c.start(drift.Instant{})
	<-answer
	return c.ballot
}

// overloaded is an error if n requests to a server are more than may be unanswered. A quarter of Config.Lab.MaxInFlight is
// kept for Op.Held: however many acquisitions are unanswered, a lease can be extended and released.
func (e *env) overloaded(op wire.Op, n int) error {
	most := e.cfg.Lab.MaxInFlight
	if !op.Held() {
		most = acquisitionsOf(most)
	}
	if n > most {
		return fmt.Errorf("%w: %d requests to this instance are unanswered; wait for it, or raise Config.Lab.MaxInFlight", ErrOverloaded, n-1)
	}
	return nil
}

// acquisitionsOf is the part of MaxInFlight for requests that are not about a key that the
// client has set before.
func acquisitionsOf(maxInFlight int) int { return maxInFlight - maxInFlight/4 }
