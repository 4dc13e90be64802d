package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// errand is one command to one instance, for somebody who doesn't wait for it. It costs
// no goroutine, unless the server must be asked first who it is.
type request struct {
	m       *member
	ctx     context.Context // detached, for its values
	op      wire.Op
	fence   bool
	reserve int // Request.Reserve
	use     use
	run     wire.Run      // that the server is asked in, see Request.Run
	again   *wire.Request // to be sent once more if another run answers; nil if it is not

	timeout time.Duration // the instance's, unless it is set

	began, sent drift.Instant
	handler     replyHandler
}

// returner is who sent an errand.
type replyHandler interface {
	// returned is called with the answer, once, on a goroutine that other answers
	// wait for: it doesn't block.
	replied(ballot Ballot)
}

// send sends the command. now is as in work.begin: taken before anything is sent, so
// that the time-out counts from no later than this.
//
// The goroutines that carry the command are the instance's own. Those that ask the server
// who it is are counted with the work that the errand is part of (see hold.queue).
func (e *request) send(cmd wire.Request, now drift.Instant) {
	e.op, e.fence, e.reserve = cmd.Op, cmd.Fence.On, cmd.Fence.Reserve
	if e.use == oldVote {
		e.again = keep(cmd)
	}
	if e.began = now; now == (drift.Instant{}) {
		e.began = e.m.reader.Now()
	}
	if e.timeout == 0 {
		e.timeout = e.m.timeout
	}
	s, err := e.m.admit(e.op, e.use, e.began)
	switch {
	case err != nil:
		e.handler.replied(Ballot{Instance: e.m.name, Vote: wire.Vote{Unsent: true, Err: err}})
	case e.use == uncounted:
		e.sendIn(cmd.Run, cmd, e.began)
	case !s.known:
		e.identifyFirst(cmd)
	case e.use == newVote && s.err != nil:
		e.end(Ballot{Vote: wire.Vote{Unsent: true, Err: s.err}})
	default:
		e.sendIn(s.run, cmd, e.began)
	}
}

// keep puts a command on the heap; a function of its own so that no other command is.
func keep(cmd wire.Request) *wire.Request { return &cmd }

// identifyFirst has the server asked who it is before it is asked for anything that
// counts. It is a function of its own so that only here the command has to be kept on
// the heap.
func (e *request) identifyFirst(cmd wire.Request) {
	go func() {
		ctx, cancel := e.m.clock.WithTimeout(e.ctx, e.timeout)
		defer cancel()
		s, err := e.m.judge(ctx)
		if err == nil && e.use == newVote {
			err = s.err
		}
		if err != nil {
			e.end(Ballot{Vote: wire.Vote{Unsent: true, Err: hideTimeout(err, e.timeout)}, Latency: drift.Elapsed(e.began, e.m.reader.Now())})
			return
		}
		e.sendIn(s.run, cmd, e.m.reader.Now())
	}()
}

// sendIn hands the command to the instance, for that run of its server; what is left
// of the time-out counts.
func (e *request) sendIn(run wire.Run, cmd wire.Request, now drift.Instant) {
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
	var other *wire.RunError
	switch {
	case e.use == uncounted:
	case errors.As(ballot.Vote.Err, &other):
		e.m.answeredBy(other)
		e.identifyAfter(ballot, received)
		return
	case ballot.Vote.Outcome == wire.Failed && e.run != "" && permanent(ballot.Vote.Err):
		// Its user may have lost the right to see the run, which a command names.
		//guard:run-asked-again  a server that rejects a command that names its run is asked again who it is
		e.m.mistrust()
	case ballot.Vote.Outcome == wire.Granted:
		ballot = e.plausible(ballot)
		if ballot.Vote.Outcome != wire.Granted || e.op == wire.Restore {
			break // a key that was put back is no vote
		}
		//guard:grant-checked-on-arrival  a grant counts only if no other run was found since it was asked for
		if err := e.m.count(e.run, e.sent, received); err != nil {
			// Not Unsent: the key is there, and has to be deleted.
			ballot.Vote = wire.Vote{Err: err, Replaced: ballot.Vote.Replaced}
		}
	}
	e.end(ballot)
}

// identifyAfter has the server asked who it is after another one answered, so that the
// next command can name it, and this one's error says what was found. What is about a
// key that is there is sent once more: a server that was restarted may have kept it.
func (e *request) identifyAfter(ballot Ballot, received drift.Instant) {
	go func() {
		ctx, cancel := e.m.clock.WithTimeout(e.ctx, max(e.timeout-drift.Elapsed(e.began, received), 1))
		defer cancel()
		s, err := e.m.judge(ctx)
		switch again := e.again; {
		case err == nil && again != nil:
			e.again = nil
			e.sendIn(s.run, *again, e.m.reader.Now())
			return
		case err == nil:
			err = s.err
		}
		if err != nil {
			ballot.Vote.Err = fmt.Errorf("%w; %w", hideTimeout(err, e.timeout), ballot.Vote.Err)
		}
		e.end(ballot)
	}()
}

func (e *request) end(ballot Ballot) {
	ballot.Instance = e.m.name
	e.m.leave()
	e.handler.replied(ballot)
}

// plausible turns a grant with tokens that can't be into a failed vote.
func (e *request) plausible(ballot Ballot) Ballot {
	//guard:grant-has-token  a grant without a valid token is no grant
	if e.op != wire.Acquire || !e.fence {
		return ballot
	}
	switch vote := &ballot.Vote; {
	case !vote.Token.Valid():
		ballot.Vote = wire.Vote{Err: fmt.Errorf("it granted with the token %d, which is none", vote.Token)}
	//guard:reserved-as-asked  a grant with more reserved tokens than were asked for is no grant
	case vote.Reserved < 0 || vote.Reserved > e.reserve || !firstOf(vote).Valid():
		ballot.Vote = wire.Vote{Err: fmt.Errorf("it granted with the token %d and %d reserved ones below it, of %d that it was asked for", vote.Token, vote.Reserved, e.reserve)}
	}
	return ballot
}
