package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// poll asks all instances about one value, for a round, an extension or a deletion, and is
// decided as soon as the votes allow it. Each instance may get a second request, which follows
// from its vote and the decision (a raise, a restore), even if it votes after the decision.
//
// All at once: asking one instance first was tried and gained nothing. After a split round it was
// the same instance for all clients, and the others were asked if it granted. Ten clients that
// start at one moment need 2.0 rounds until one has the lock, with that and without, and 1.95 with
// random delays alone.
//
// Four places depend on it that all are asked at once:
//
//   - A round takes two InstanceTimeouts at most, one for the votes and one for the raises, which
//     Terms.validate in config.go counts on.
//   - Each round of a split has asked the instance that decides it (contend.go).
//   - When a round is won its requests to all instances have begun or are in turn. So its ballots
//     are final as soon as none is unfinished (valuestate.go).
//   - A round that deletes a value first does so on every instance (Resume in handle.go). Where it didn't
//     ask, the sender's key would stay for a TTL, because no release names its value any more.
type poll struct {
	state    *valueState
	ctx      context.Context // detached: the votes outlive the caller
	question question
	requests []request     // per instance
	decided  chan struct{} // closed at the decision; nil for an extension

	deletesOwn bool // an Acquire first deletes what this Coordinator is deleting (leftovers)

	mu      sync.Mutex
	ballots []Ballot // per instance
	tally   majority.Tally
}

// question is what a poll asks, and what it concludes from the votes. A round, an extension and a
// deletion are questions, each with a poll of its own.
type question interface {
	// firstRequest is the first request to instance i, and the use of its answer. It is nil if the
	// value certainly isn't there. Then the vote is a refusal.
	firstRequest(i int) (*wire.Request, use)
	// answered takes in the answer to the first or the second request to instance i, before
	// count.
	answered(i int, second bool, ballot Ballot)
	// count takes in instance i's vote. The poll's lock is held.
	count(i int, vote *wire.Vote)
	// secondRequest is the second request to instance i, nil if there is none. While that is open,
	// second requests have to wait for the decision. The poll's lock is held.
	secondRequest(i int) (cmd *wire.Request, open bool)
}

func (p *poll) init(v *valueState, ctx context.Context, q question, ballots []Ballot, requests []request) {
	p.state, p.ctx, p.question, p.requests = v, ctx, q, requests
	p.ballots = v.c.pendingBallots(ballots)
	p.tally = majority.Tally{Majority: v.c.majority}
	for i, m := range v.c.members {
		requests[i].poll, requests[i].i, requests[i].m = p, i, m
	}
}

// askAll asks all instances. now is as in request.begin.
func (p *poll) askAll(now drift.Instant) {
	for i := range p.requests {
		p.ask(i, now)
	}
}

// ask asks instance i after all earlier requests to it about the value.
func (p *poll) ask(i int, now drift.Instant) { p.state.inTurn(i, &p.requests[i], now) }

func (p *poll) countLocked(i int, ballot Ballot) {
	p.ballots[i] = ballot
	p.question.count(i, &p.ballots[i].Vote)
}

// moveOn is called after everything that may have decided the poll: it sends the second
// requests to those instances that have voted, and ends the work at the others.
func (p *poll) moveOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.requests {
		r := &p.requests[i]
		if !r.waiting {
			continue
		}
		// Computed right before it is sent, because a release that has begun meanwhile forbids it.
		cmd, open := p.question.secondRequest(i)
		if open {
			return
		}
		r.waiting, r.second = false, cmd != nil
		p.mu.Unlock()
		if cmd == nil {
			p.state.doneAt(i)
		} else {
			r.use = sentAnyway
			r.send(cmd, drift.Instant{})
		}
		p.mu.Lock()
	}
}

func (p *poll) isDecided() bool {
	select {
	case <-p.decided:
		return true
	default:
		return false
	}
}

func (p *poll) snapshot() []Ballot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ballots)
}

// request is one instance's part in a poll: one request, and a second one if that follows. Nothing
// waits for the answer, and it takes no goroutine, unless a connection must be made or the server be
// probed first. Requests about one value to one instance are sent one after the other
// (valueState.inTurn).
type request struct {
	poll *poll
	i    int
	m    *member

	second bool // the second request was sent

	waiting bool // guarded by the poll's lock: the vote is in, and the poll is open

	cmd        *wire.Request // without Run and Clock; several instances may get the same
	use        use
	repeated   bool          // it was sent once more, because another run had answered
	run        wire.Run      // the run that the request names, see Request.Run
	floor      fencing.Token // what an Acquire named, see Fence.Floor
	timeout    time.Duration // the instance's, unless it is set
	carriedOut bool          // the instance granted it, whether or not the grant counts

	began, sent drift.Instant
}

// begin sends the first request, when all earlier work about the value on the instance has ended. It
// doesn't block. now is the present, or the zero Instant if the clocks have yet to be read.
func (r *request) begin(now drift.Instant) {
	cmd, use := r.poll.question.firstRequest(r.i)
	if cmd == nil {
		r.vote(Ballot{Instance: r.m.name, Vote: wire.Vote{Outcome: wire.Refused}})
		return
	}
	r.use = use
	r.send(cmd, now)
}

// replied takes in the answer, on a goroutine that other answers wait for.
func (r *request) replied(ballot Ballot) {
	r.poll.question.answered(r.i, r.second, ballot)
	if r.second {
		r.poll.state.doneAt(r.i)
		return
	}
	r.vote(ballot)
}

// vote counts the instance's vote.
func (r *request) vote(ballot Ballot) {
	p := r.poll
	p.mu.Lock()
	r.waiting = true
	p.countLocked(r.i, ballot)
	p.mu.Unlock()
	p.moveOn()
}

// send sends the request. now is as in begin: read before anything is sent, so that the
// timeout counts from no later than this.
//
// The goroutines that carry the request belong to the instance. The goroutines that probe
// the server are counted with the value's work (see valueState.inTurn). Each request has a timeout of its
// own, and nothing else ends it: an error of one instance must not cost the vote of another.
func (r *request) send(cmd *wire.Request, now drift.Instant) {
	r.cmd, r.repeated, r.carriedOut = cmd, false, false
	if r.began = now; now == (drift.Instant{}) {
		r.began = r.m.c.reader.Now()
	}
	if r.timeout == 0 {
		r.timeout = r.m.c.cfg.InstanceTimeout
	}
	s, err := r.m.admit(cmd.Op, r.use, r.began)
	switch {
	case err != nil:
		r.replied(Ballot{Instance: r.m.name, Vote: wire.Vote{Unsent: true, Err: err}})
	case r.use == sentIfItMayVote && s.identified && s.err != nil:
		r.end(Ballot{Vote: wire.Vote{Unsent: true, Err: s.err}})
	case !r.m.connected():
		r.connectFirst()
	case r.use == uncounted:
		r.sendIn(standing{}, r.began)
	//guard:other-set-is-not-asked  a server that clients of another set use isn't asked for a vote
	case !s.identified, r.use == sentIfItMayVote && s.otherSet:
		go r.probeFirst(false)
	default:
		r.sendIn(s, r.began)
	}
}

// connectFirst waits for a connection before the request is sent. Until the server has been
// asked once it isn't late, so its timeouts count from then. Otherwise a client far away
// would lose the first round after each pause.
func (r *request) connectFirst() {
	go func() {
		if err := r.m.connect(r.poll.ctx); err != nil {
			r.unsent(err)
			return
		}
		if r.use != uncounted {
			r.probeFirst(true)
			return
		}
		r.began = r.m.c.reader.Now()
		r.sendIn(standing{}, r.began)
	}()
}

// probeFirst probes the server before the request is sent, if it is unknown. fresh says that the
// connection was made for this request: then each of the two has a timeout of its own.
func (r *request) probeFirst(fresh bool) {
	ctx, cancel := r.m.c.clock.WithTimeout(r.poll.ctx, r.timeout)
	defer cancel()
	s, err := r.m.identifyIfUnknown(ctx, false)
	if err == nil && r.use == sentIfItMayVote {
		err = s.err
	}
	if err != nil {
		r.unsent(err)
		return
	}
	now := r.m.c.reader.Now()
	if fresh {
		//guard:timeout-from-the-connection  the time that a connection takes to make isn't a request's
		r.began = now
	}
	r.sendIn(s, now)
}

// unsent ends the request before it was sent.
func (r *request) unsent(err error) {
	r.end(Ballot{Vote: wire.Vote{Unsent: true, Err: r.m.hideTimeout(err, r.timeout)}, Latency: drift.Elapsed(r.began, r.m.c.reader.Now())})
}

// sendIn sends the request to the instance, for the run of its server that was found, with the rest of
// the timeout.
func (r *request) sendIn(s standing, now drift.Instant) {
	cmd := *r.cmd
	//guard:run-is-sent  every command names the run that it is meant for
	r.sent, r.run, cmd.Run = now, s.run, s.run
	if cmd.Op == wire.Acquire {
		r.floor, cmd.Fence.Floor = s.floor, s.floor
		//guard:own-values-are-deleted  an acquisition first deletes the values that this client is deleting anyway
		if r.poll.deletesOwn {
			cmd.Delete = r.m.leftovers.under(&cmd)
		}
	}
	left := r.timeout
	if now != r.began {
		left = max(left-drift.Elapsed(r.began, now), 1)
	}
	cmd.Clock = cmd.Clock || r.m.wantsClock(cmd.Op)
	//guard:instance-timeout  no instance is waited for longer than InstanceTimeout
	r.m.inst.Send(cmd, left, r)
}

// Receive takes in the instance's vote.
func (r *request) Receive(vote wire.Vote) {
	received := r.m.c.reader.Now()
	ballot := r.m.takeVote(vote, r.timeout, r.sent, received)
	other := otherRun(ballot.Vote.Err)
	if ballot.Vote.Holder != "" && r.cmd.Op == wire.Acquire {
		//guard:refusal-without-value  what a lost round tells of the holder isn't enough to release the lock
		ballot.Vote.Holder = shortValue(ballot.Vote.Holder)
	}
	switch {
	case r.use == uncounted:
	case errors.Is(ballot.Vote.Err, ErrSetMismatch):
		r.m.noteOtherSet(ballot.Vote.Err)
	case other != nil:
		r.m.answeredBy(other)
		r.probeAfter(ballot, received)
		return
	case ballot.Vote.Outcome == wire.Failed && r.run != "" && permanent(ballot.Vote.Err):
		// The user may have lost the right to read the run, which the request names.
		//guard:run-asked-again  a server that rejects a command that names its run is asked again who it is
		r.m.forget()
	case ballot.Vote.Outcome == wire.Refused:
		//guard:refusals-are-seen  a server that refused was seen then, so that no older mark of another server counts
		r.m.saw(received)
	case ballot.Vote.Outcome == wire.Granted:
		r.carriedOut = true
		ballot = r.plausible(ballot)
		if ballot.Vote.Outcome != wire.Granted || r.cmd.Op == wire.Restore {
			break // a restored key is no vote
		}
		//guard:grant-checked-on-arrival  a grant counts only if no other run was found since it was asked for
		if err := r.m.acceptGrant(r.run, r.sent, received); err != nil {
			// Not Unsent: the key is there and has to be deleted.
			ballot.Vote = wire.Vote{Err: err}
		}
	}
	r.end(ballot)
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
// there is sent once more, because a server that was restarted may have kept the key. An Acquire isn't: its
// key may have been set in that other run, and would refuse it.
func (r *request) probeAfter(ballot Ballot, received drift.Instant) {
	go func() {
		ctx, cancel := r.m.c.clock.WithTimeout(r.poll.ctx, max(r.timeout-drift.Elapsed(r.began, received), 1))
		defer cancel()
		s, err := r.m.identifyIfUnknown(ctx, false)
		switch {
		case err == nil && r.use == sentAnyway && !r.repeated:
			r.repeated = true
			r.sendIn(s, r.m.c.reader.Now())
			return
		case err == nil:
			err = s.err
		}
		if err != nil {
			ballot.Vote.Err = fmt.Errorf("%w; %w", r.m.hideTimeout(err, r.timeout), ballot.Vote.Err)
		}
		r.end(ballot)
	}()
}

func (r *request) end(ballot Ballot) {
	ballot.Instance = r.m.name
	r.m.requestEnded()
	r.replied(ballot)
}

// plausible turns a grant with impossible tokens, or of other keys, into a failed vote.
func (r *request) plausible(ballot Ballot) Ballot {
	//guard:grant-of-all-keys  a grant of one key isn't taken for one of several
	if n := len(r.cmd.Also); n > 0 && int(ballot.Vote.Keys) != 1+n {
		ballot.Vote = wire.Vote{Err: fmt.Errorf("%w: it granted %d keys of %d; the Instance doesn't know wire.Request.Also", ErrConfig, ballot.Vote.Keys, 1+n)}
		return ballot
	}
	if r.cmd.Op != wire.Acquire || !r.cmd.Fence.On {
		return ballot
	}
	vote := &ballot.Vote
	behind := !vote.Clock.IsZero() && int64(vote.Token) <= vote.Clock.UnixMicro()
	most := vote.Clock.Add(r.cmd.Fence.Ahead)
	switch {
	//guard:grant-has-token  a grant without a valid token is no grant
	case !vote.Token.Valid():
		ballot.Vote = wire.Vote{Err: fmt.Errorf("it granted with the token %d, which is none", vote.Token)}
	//guard:grant-within-the-bound  a grant with a token that is too far ahead of the server's clock is no grant
	case !vote.Clock.IsZero() && int64(vote.Token) > most.UnixMicro():
		ballot.Vote = wire.Vote{Err: &wire.CounterError{Token: vote.Token, Clock: vote.Clock, Most: r.cmd.Fence.Ahead}}
	//guard:grant-above-the-floor  a grant whose token an earlier run may have given, or a lost counter, is no grant
	case vote.Token <= r.floor && behind:
		ballot.Vote = wire.Vote{Err: fmt.Errorf("%w: it granted with the token %d, of a counter that may be older than tokens it gave before, and has come to %d", ErrConfig, vote.Token, r.floor)}
	}
	return ballot
}
