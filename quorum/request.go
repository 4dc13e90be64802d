package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// request is one request to one instance whose sender doesn't wait for the answer. It takes
// no goroutine, unless a connection must be made or the server be probed first.
type request struct {
	m        *member
	ctx      context.Context // detached, for its values
	cmd      *wire.Request   // without Run and Clock; several instances may get the same
	use      use
	repeated bool     // it was sent once more, because another run had answered
	run      wire.Run // the run that the request names, see Request.Run

	timeout time.Duration // the instance's, unless it is set

	carriedOut bool // the instance granted it, whether or not the grant counts

	began, sent drift.Instant
	handler     replyHandler
}

// replyHandler gets the answer to a request.
type replyHandler interface {
	// replied is called once, on a goroutine that other answers wait for, so it must not
	// block.
	replied(ballot Ballot)
}

// send sends the request. now is as in work.begin: read before anything is sent, so that the
// timeout counts from no later than this.
//
// The goroutines that carry the request belong to the instance. The goroutines that probe
// the server are counted with the work that the request is part of (see valueState.queue).
func (e *request) send(cmd *wire.Request, now drift.Instant) {
	e.cmd, e.repeated, e.carriedOut = cmd, false, false
	if e.began = now; now == (drift.Instant{}) {
		e.began = e.m.reader.Now()
	}
	if e.timeout == 0 {
		e.timeout = e.m.timeout
	}
	s, err := e.m.admit(cmd.Op, e.use, e.began)
	switch {
	case err != nil:
		e.handler.replied(Ballot{Instance: e.m.name, Vote: wire.Vote{Unsent: true, Err: err}})
	case e.use == newVote && s.known && s.err != nil:
		e.end(Ballot{Vote: wire.Vote{Unsent: true, Err: s.err}})
	case !e.m.connected():
		e.connectFirst()
	case e.use == uncounted:
		e.sendIn("", e.began)
	case !s.known:
		go e.probeFirst(false)
	default:
		e.sendIn(s.run, e.began)
	}
}

// connectFirst waits for a connection before the request is sent. Until the server has been
// asked once it isn't late, so its timeouts count from then. Otherwise a client far away
// would lose the first round after each pause.
func (e *request) connectFirst() {
	go func() {
		if err := e.m.connect(e.ctx); err != nil {
			e.unsent(err)
			return
		}
		if e.use != uncounted {
			e.probeFirst(true)
			return
		}
		e.began = e.m.reader.Now()
		e.sendIn("", e.began)
	}()
}

// probeFirst probes the server before the request is sent, if it is unknown. fresh says that the
// connection was made for this request: then each of the two has a timeout of its own.
func (e *request) probeFirst(fresh bool) {
	ctx, cancel := e.m.clock.WithTimeout(e.ctx, e.timeout)
	defer cancel()
	s, err := e.m.known(ctx, false)
	if err == nil && e.use == newVote {
		err = s.err
	}
	if err != nil {
		e.unsent(err)
		return
	}
	now := e.m.reader.Now()
	if fresh {
		//guard:timeout-from-the-connection  the time that a connection takes to make isn't a request's
		e.began = now
	}
	e.sendIn(s.run, now)
}

// unsent ends the request before it was sent.
func (e *request) unsent(err error) {
	e.end(Ballot{Vote: wire.Vote{Unsent: true, Err: e.m.hideTimeout(err, e.timeout)}, Latency: drift.Elapsed(e.began, e.m.reader.Now())})
}

// sendIn sends the request to the instance, for that run of its server, with the rest of the
// timeout.
func (e *request) sendIn(run wire.Run, now drift.Instant) {
	cmd := *e.cmd
	//guard:run-is-sent  every command names the run that it is meant for
	e.sent, e.run, cmd.Run = now, run, run
	left := e.timeout
	if now != e.began {
		left = max(left-drift.Elapsed(e.began, now), 1)
	}
	cmd.Clock = cmd.Clock || e.m.wantsClock(cmd.Op)
	//guard:instance-timeout  no instance is waited for longer than InstanceTimeout
	e.m.inst.Send(cmd, left, e)
}

// Receive takes in the instance's vote.
func (e *request) Receive(vote wire.Vote) {
	received := e.m.reader.Now()
	ballot := e.m.answered(vote, e.timeout, e.sent, received)
	other := otherRun(ballot.Vote.Err)
	if ballot.Vote.Holder != "" && e.cmd.Op == wire.Acquire {
		//guard:refusal-without-value  what a lost round tells of the holder isn't enough to release the lock
		ballot.Vote.Holder = shortValue(ballot.Vote.Holder)
	}
	switch {
	case e.use == uncounted:
	case other != nil:
		e.m.answeredBy(other)
		e.probeAfter(ballot, received)
		return
	case ballot.Vote.Outcome == wire.Failed && e.run != "" && permanent(ballot.Vote.Err):
		// The user may have lost the right to read the run, which the request names.
		//guard:run-asked-again  a server that rejects a command that names its run is asked again who it is
		e.m.forget()
	case ballot.Vote.Outcome == wire.Granted:
		e.carriedOut = true
		ballot = e.plausible(ballot)
		if ballot.Vote.Outcome != wire.Granted || e.cmd.Op == wire.Restore {
			break // a restored key is no vote
		}
		//guard:grant-checked-on-arrival  a grant counts only if no other run was found since it was asked for
		if err := e.m.count(e.run, e.sent, received); err != nil {
			// Not Unsent: the key is there and has to be deleted.
			ballot.Vote = wire.Vote{Err: err}
		}
	}
	e.end(ballot)
}

// otherRun returns the RunError in an error, nil if there is none.
func otherRun(err error) *wire.RunError {
	if err == nil {
		return nil // nearly always
	}
	other, _ := errors.AsType[*wire.RunError](err)
	return other
}

// probeAfter probes the server after another run answered, so that the next request can name
// that run, and this request's error says what was found. A request about a key that may be
// there is sent once more, because a server that was restarted may have kept the key.
func (e *request) probeAfter(ballot Ballot, received drift.Instant) {
	go func() {
		ctx, cancel := e.m.clock.WithTimeout(e.ctx, max(e.timeout-drift.Elapsed(e.began, received), 1))
		defer cancel()
		s, err := e.m.known(ctx, false)
		switch {
		case err == nil && e.use == oldVote && !e.repeated:
			e.repeated = true
			e.sendIn(s.run, e.m.reader.Now())
			return
		case err == nil:
			err = s.err
		}
		if err != nil {
			ballot.Vote.Err = fmt.Errorf("%w; %w", e.m.hideTimeout(err, e.timeout), ballot.Vote.Err)
		}
		e.end(ballot)
	}()
}

func (e *request) end(ballot Ballot) {
	ballot.Instance = e.m.name
	e.m.ended()
	e.handler.replied(ballot)
}

// plausible turns a grant with impossible tokens, or of other keys, into a failed vote.
func (e *request) plausible(ballot Ballot) Ballot {
	//guard:grant-of-all-keys  a grant of one key isn't taken for one of several
	if n := len(e.cmd.Also); n > 0 && int(ballot.Vote.Keys) != 1+n {
		ballot.Vote = wire.Vote{Err: fmt.Errorf("%w: it granted %d keys of %d; the Instance doesn't know wire.Request.Also", ErrConfig, ballot.Vote.Keys, 1+n)}
		return ballot
	}
	//guard:grant-has-token  a grant without a valid token is no grant
	if e.cmd.Op != wire.Acquire || !e.cmd.Fence.On {
		return ballot
	}
	switch vote := &ballot.Vote; {
	case !vote.Token.Valid():
		ballot.Vote = wire.Vote{Err: fmt.Errorf("it granted with the token %d, which is none", vote.Token)}
	//guard:reserved-as-asked  a grant with more reserved tokens than were asked for is no grant
	case vote.Reserved < 0 || vote.Reserved > e.cmd.Fence.Reserve || !vote.First().Valid():
		ballot.Vote = wire.Vote{Err: fmt.Errorf("it granted with the token %d and %d reserved ones below it, of %d that it was asked for", vote.Token, vote.Reserved, e.cmd.Fence.Reserve)}
	}
	return ballot
}
