package quorum

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/internal/settlement"
	"github.com/redquorum/redlock/quorum/wire"
)

// round is one attempt to win a lease: one value, one vote from each instance, one decision.
// It has two stages. In the first the instances vote. When a quorum has granted, the round
// chooses its token, usually the largest of their counters. The second stage raises the counters that are
// lower, or may be older than tokens that were given before. The round is won when a quorum has the token.
// Those instances are its settled quorum. Package settlement has the choice, and the argument why tokens rise.
type round struct {
	poll
	c   *core
	cmd wire.Request

	resumes bool // it resumes a lease that was handed off, see Handle

	// Guarded by the poll's lock.
	stage   roundStage
	token   fencing.Token  // once chosen
	settled majority.Tally // in the second stage: Granted counts instances that have the token
	why     error          // once lost: one of this package's errors itself, and never wrapped
	atLoss  []Ballot       // the ballots at the loss, and those for which awaitDecider has waited since
	late    chan struct{}  // if not nil, it receives when a vote comes after the loss
	raises  []Ballot       // why instances that granted don't have the token
}

type roundStage uint8

const (
	voting roundStage = iota
	raising
	won
	lost
)

func (c *core) newRound(ctx context.Context, keys keys, value string, terms Terms) *round {
	r := &roundBuffer{round: round{
		c: c,
		cmd: wire.Request{
			//guard:all-keys-in-one  a lease on several keys is asked for in one request for all of them
			Op: wire.Acquire, Key: keys.key, Also: keys.also, Value: value, TTL: terms.TTL,
			Fence: wire.Fence{On: c.cfg.Fencing == On, TTL: c.cfg.CounterTTL, Ahead: c.cfg.ahead()}, Clock: c.cfg.Fencing == On,
		},
		settled: majority.Tally{Majority: c.majority},
	}}
	r.decided = make(chan struct{})
	n := len(c.members)
	// The lease keeps the state and the ballots for longer than the rest.
	r.poll.init(newValueState(c, keys, value), context.WithoutCancel(ctx), &r.round, make([]Ballot, n), buffer(r.requestBuffer[:], n))
	return &r.round
}

// roundBuffer is a round and its requests in one piece of memory.
type roundBuffer struct {
	round
	requestBuffer [bufferedInstances]request
}

// bufferedInstances is the number of instances for which preallocated memory suffices.
const bufferedInstances = 5

// buffer returns n elements, from the preallocated ones if these suffice.
func buffer[T any](preallocated []T, n int) []T {
	if n <= len(preallocated) {
		return preallocated[:n:n]
	}
	return make([]T, n)
}

// pendingBallots sets the ballots to those of a poll that has no answers yet.
func (c *core) pendingBallots(ballots []Ballot) []Ballot {
	for i, m := range c.members {
		ballots[i] = Ballot{Instance: m.name, Vote: wire.Vote{Err: ErrPending}}
	}
	return ballots
}

// roundOptions say how a round is run.
type roundOptions struct {
	contends bool   // after a split, keep the keys of the client that has the first instance's vote
	deciders []int  // the instances in the order in which they decide a split, if contends
	deletes  string // the value of an earlier round that may still be there, or of a handle
	resumes  bool   // only instances that have that value count

	// Set by runRound.
	state *valueState // the round's value
	split bool        // if contends: the votes were split between clients
	kept  *round      // if contends: the round, if its keys were kept, which the caller deletes
}

// runRound runs one round and returns the lease, or an error after the round was rolled back
// (lose).
func (c *Coordinator) runRound(ctx context.Context, all keys, try int, opts *roundOptions) (*Lease, *RoundError) {
	hooks := &c.cfg.Hooks
	opts.split, opts.kept = false, nil
	entered := c.reader.Now()
	if err := c.admission.enter(); err != nil {
		return nil, c.notAdmitted(ctx, all, try, entered, err)
	}
	left := false
	defer func() {
		// Also after a panic in a hook, because the caller may recover, as net/http does.
		//guard:admission-after-panic  a round whose hook panics is no longer counted as under way
		if !left {
			c.admission.end(false, false, entered.Mono, entered.Mono)
		}
	}()
	digits, err := c.random.digits()
	if err != nil {
		return nil, c.roundError(wire.Acquire, all, err)
	}
	c.tellStart(ctx, wire.Acquire, all, try)
	// Before the first SET is sent: no instance starts counting the TTL earlier.
	//guard:start-before-send  the validity counts from before the first SET
	start := c.reader.Now()
	//guard:resumed-under-new-value  a resumed lease has a value of its own, which nothing late of the sender can touch
	r := c.newRound(ctx, all, writeValue(digits, c.cfg.Owner, c.terms.Note), c.terms)
	r.resumes, opts.state = opts.resumes, r.state
	if opts.deletes != "" {
		r.cmd.Delete = []string{opts.deletes}
	}
	//guard:resumed-value-alone  a resumption deletes the lease's value alone, so that an instance without it can't count
	r.deletesOwn = !opts.resumes
	if r.cmd.Fence.On {
		r.cmd.Fence.Token = c.startToken(start)
	}
	r.askAll(start)
	interrupt := r.await(ctx, r.decided)

	now := c.reader.Now()
	//guard:round-time-counts  the time that a round took is taken off the validity
	validity := c.cfg.Drift.Validity(c.terms.TTL, drift.Elapsed(start, now))
	verdict := r.verdict(interrupt, validity, c.terms.MinValidity)
	c.admission.end(verdict == nil, verdict == nil || verdict == ErrTaken, entered.Mono, now.Mono)
	left = true

	event := RoundEnd{Op: wire.Acquire, Key: all.key, Also: slices.Clone(all.also), Try: try, Started: start.Wall, Took: drift.Elapsed(start, now)}
	if verdict != nil {
		return nil, r.lose(ctx, verdict, opts, event, start)
	}
	c.noteRound(ctx, all.key, start, nil)
	//guard:validity-from-the-start  a lease's validity counts from before its first request
	lease := newLease(c, r, start)
	if hooks.RoundDecided != nil {
		event.Token, event.Validity, event.Ballots = r.token, validity, r.snapshot()
		c.withHook(lease, func() { hooks.RoundDecided(ctx, event) })
	}
	return lease, nil
}

// lose rolls a lost round back, unless this client keeps its keys after a split (contend), and returns
// the round's error.
func (r *round) lose(ctx context.Context, verdict error, opts *roundOptions, event RoundEnd, start drift.Instant) *RoundError {
	if opts.contends && verdict == ErrTaken {
		r.awaitDecider(ctx, opts.deciders)
	}
	roundErr := r.failure(ctx, verdict)
	seen, returned := taken, false
	if opts.contends && verdict == ErrTaken {
		seen = r.c.contestOf(opts.deciders, roundErr.Votes)
	}
	if opts.split = seen != taken; seen == mine {
		opts.kept = r
		defer r.deleteUnless(&returned)
	} else {
		//guard:rollback  a lost round deletes what it has set
		r.rollBack(ctx)
	}
	if decided := r.c.cfg.Hooks.RoundDecided; decided != nil {
		event.Err, event.Ballots = roundErr, roundErr.Votes
		decided(ctx, event)
	}
	r.c.noteRound(ctx, r.state.key, start, roundErr)
	returned = true
	return roundErr
}

// failure is the error of a round that was lost.
func (r *round) failure(ctx context.Context, verdict error) *RoundError {
	err := r.c.roundError(wire.Acquire, r.state.keys, verdict)
	r.mu.Lock()
	// The ballots at the loss, because the wait that follows depends on them, and not on those that
	// have come in since.
	err.Votes, err.Raises = r.atLoss, r.raises
	r.mu.Unlock()
	switch verdict {
	case ErrInterrupted:
		err.Cause = causeOf(ctx)
	case ErrTaken:
		err.Holder = holderIn(err.Votes, r.state.keys, r.c.majority)
	}
	return err
}

// withHook calls a hook before the caller gets the lease. If the hook panics no caller gets the
// lease. Then it is released, so that its keys don't stay for a TTL.
func (c *core) withHook(lease *Lease, hook func()) {
	returned := false
	defer func() {
		if !returned {
			//guard:panic-releases  a lease that no caller gets because a hook panics is released
			c.discard(lease)
		}
	}()
	hook()
	returned = true
}

// tellStart calls Hooks.RoundStarted.
func (c *core) tellStart(ctx context.Context, op wire.Op, all keys, try int) {
	if started := c.cfg.Hooks.RoundStarted; started != nil {
		started(ctx, RoundStart{Op: op, Key: all.key, Also: slices.Clone(all.also), Try: try})
	}
}

// notAdmitted is the error of a round that was not admitted. It calls the hooks of any round.
func (c *core) notAdmitted(ctx context.Context, keys keys, try int, entered drift.Instant, why error) *RoundError {
	err := c.roundError(wire.Acquire, keys, why)
	c.tellStart(ctx, wire.Acquire, keys, try)
	if decided := c.cfg.Hooks.RoundDecided; decided != nil {
		decided(ctx, RoundEnd{Op: wire.Acquire, Key: keys.key, Also: slices.Clone(keys.also), Try: try, Started: entered.Wall, Err: err})
	}
	return err
}

// await waits for an event of this round, or returns the error that interrupts it.
func (r *round) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ErrInterrupted
	case <-r.c.background.closing:
		return ErrClosed
	}
}

func (r *round) firstRequest(int) (*wire.Request, use) { return &r.cmd, sentIfItMayVote }

func (r *round) answered(i int, second bool, ballot Ballot) {
	if second {
		r.countRaise(i, ballot)
		return
	}
	r.state.noteAnswer(i, wire.Acquire, ballot.Vote)
}

// secondRequest raises an instance that is behind the token.
func (r *round) secondRequest(i int) (cmd *wire.Request, open bool) {
	if !r.behind(i) {
		return nil, r.stage == voting
	}
	return &wire.Request{
		//guard:raise-of-all  the counters of all keys of a lease are raised together
		Op: wire.Raise, Key: r.cmd.Key, Also: r.cmd.Also, Value: r.cmd.Value,
		Fence: wire.Fence{On: true, Token: r.token, TTL: r.cmd.Fence.TTL, Ahead: r.cmd.Fence.Ahead},
	}, false
}

// count takes in a vote. r.mu is held.
func (r *round) count(i int, vote *wire.Vote) {
	switch r.stage {
	case voting:
		outcome := vote.Outcome
		//guard:resume-replaces  a resumption counts only the instances that still had the lease
		if r.resumes && outcome == wire.Granted && !vote.Replaced {
			// The key had gone, so another client may have had the lock there since. As in
			// an extension, an instance on which the lease has to be restored doesn't count.
			outcome = wire.Refused
		}
		switch r.tally.Count(outcome) {
		case majority.Won:
			r.beginRaising()
		case majority.Lost:
			r.finish(lost, r.reason())
		}
	case raising:
		// A late vote may still help, see behind.
		r.settle(i)
	case won:
		// Not needed any more. But the instance has the lease and its token, so that an
		// extension need not restore them.
		//guard:late-has-the-token  a late grant below the token is noted as lacking it
		if vote.Outcome == wire.Granted && !settlement.IsBehind(vote, r.token) {
			r.state.noteToken(i)
		}
	case lost:
		select {
		case r.late <- struct{}{}:
		default:
		}
	}
}

// beginRaising ends the first stage if a token can be chosen, which fixes the token. Otherwise
// the round goes on voting while the missing votes can help.
func (r *round) beginRaising() {
	token, agree := r.rules().Choose(r.votes())
	if agree < r.settled.Q {
		//guard:race-not-given-up  a round that has its grants but no token goes on while a missing vote can still help
		if agree+r.tally.Missing() < r.settled.Q {
			r.blame(token)
			r.finish(lost, ErrTokenRace)
		}
		return
	}
	r.stage, r.token = raising, token
	for i := range r.ballots {
		if r.ballots[i].Vote.Err != ErrPending {
			r.settle(i)
		}
	}
}

// rules are those of the settlement.
func (r *round) rules() settlement.Rules {
	return settlement.Rules{Quorum: r.settled.Q, Ahead: r.cmd.Fence.Ahead}
}

// votes iterates over the votes. r.mu is held.
func (r *round) votes() iter.Seq[*wire.Vote] {
	return func(yield func(*wire.Vote) bool) {
		for i := range r.ballots {
			if !yield(&r.ballots[i].Vote) {
				return
			}
		}
	}
}

// blame notes which instances kept the others from agreeing on a token.
func (r *round) blame(token fencing.Token) {
	for i := range r.ballots {
		if why := r.rules().Obstacle(&r.ballots[i].Vote, token); why != nil {
			r.raises = append(r.raises, Ballot{Instance: r.ballots[i].Instance, Vote: wire.Vote{Err: why}})
		}
	}
}

// settle counts instance i for the token, as far as its vote decides it: the instance has the
// token, can't have it, or has yet to be raised to it.
func (r *round) settle(i int) {
	if r.stage != raising {
		return
	}
	vote := &r.ballots[i].Vote
	switch {
	case vote.Outcome != wire.Granted:
		r.countSettled(wire.Failed)
	case settlement.IsBehind(vote, r.token):
		// To be raised; counted when that is answered.
	default:
		r.state.noteToken(i)
		r.countSettled(r.tokenVote(i))
	}
}

// tokenVote is Granted if an instance that has the token counts for it.
func (r *round) tokenVote(i int) wire.Outcome {
	if why := settlement.Counts(&r.ballots[i].Vote, r.token); why != nil {
		r.noteRaise(Ballot{Instance: r.ballots[i].Instance, Vote: wire.Vote{Err: why}})
		return wire.Failed
	}
	return wire.Granted
}

func (r *round) countSettled(o wire.Outcome) {
	if r.stage != raising {
		return
	}
	switch r.settled.Count(o) {
	case majority.Won:
		r.finish(won, nil)
	case majority.Lost:
		r.finish(lost, ErrTokenRace)
	}
}

// behind reports whether instance i's counter has to be raised to the token. r.mu is held.
func (r *round) behind(i int) bool {
	vote := &r.ballots[i].Vote
	// A late vote of a won round is raised, too: its counter then helps the next holder's
	// proof.
	//guard:late-lower-is-raised  a late grant below the token has its counter raised, too
	return vote.Outcome == wire.Granted && settlement.IsBehind(vote, r.token) && (r.stage == raising || r.stage == won)
}

func (r *round) countRaise(i int, ballot Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Granted means that the key still held the value. A counter that is raised after the
	// key was lost proves nothing.
	//guard:raise-granted  a raise counts only if the instance confirms that the key is still the lease's
	if ballot.Vote.Outcome == wire.Granted {
		r.state.noteToken(i)
		r.countSettled(r.tokenVote(i))
		return
	}
	r.noteRaise(ballot)
	r.countSettled(wire.Failed)
}

// noteRaise records why an instance that granted doesn't have the token. r.mu is held.
func (r *round) noteRaise(ballot Ballot) {
	if r.stage == raising {
		r.raises = append(r.raises, ballot)
	}
}

// reason says why a round was lost in its first stage. r.mu is held.
func (r *round) reason() error {
	otherSet := 0
	for i := range r.ballots {
		if errors.Is(r.ballots[i].Vote.Err, ErrSetMismatch) {
			otherSet++
		}
	}
	switch {
	// Without these failures the round could have been won.
	case r.tally.FailuresDecide() && r.tally.Failed-otherSet < r.tally.Blocking():
		return ErrSetMismatch
	case !r.resumes && !r.tally.FailuresDecide():
		return ErrTaken
	case r.resumes && r.tally.RefusalsDecide():
		return ErrLost // another holder's key, or none, is in the lease's place
	default:
		return ErrNoQuorum // with these failures the refusals say nothing of the lock
	}
}

// finish decides the round. r.mu is held.
func (r *round) finish(s roundStage, why error) {
	r.stage, r.why = s, why
	if s == lost {
		r.atLoss = slices.Clone(r.ballots)
	}
	close(r.decided)
}

// verdict is nil if the round gives a lease. It is final: a round that isn't won now is lost.
func (r *round) verdict(interrupt error, validity, least time.Duration) error {
	defer r.moveOn()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	//guard:validity-left  a round that leaves too little validity gives no lease
	case r.stage == won && (validity <= 0 || validity < least):
		// Grants that came too late make no lease: the first of them may have expired
		// (scenario S3).
		r.stage, r.why, r.atLoss = lost, ErrTooSlow, slices.Clone(r.ballots)
	case r.stage == voting || r.stage == raising:
		r.finish(lost, interrupt)
	}
	return r.why
}

// rollBack deletes the round's key on all instances, because a failed request may have been
// carried out. It returns when the instances that granted have answered the delete. The rest
// is done in the background.
func (r *round) rollBack(ctx context.Context) {
	awaited, n := make([]bool, len(r.ballots)), 0
	r.mu.Lock()
	for i := range r.ballots {
		if awaited[i] = r.ballots[i].Vote.Outcome == wire.Granted; awaited[i] {
			n++
		}
	}
	r.mu.Unlock()
	//guard:rollback-detached  a lost round is rolled back even if its caller was cancelled
	d := r.delete(awaited)
	if n > 0 {
		_ = r.await(ctx, d.decided)
	}
}

// deleteUnless is delete if a hook panicked before its caller returned.
func (r *round) deleteUnless(returned *bool) {
	if !*returned {
		r.delete(nil)
	}
}

// delete deletes the round's key in the background. r may be nil.
func (r *round) delete(awaited []bool) *deletion {
	if r == nil {
		return nil
	}
	d := newDeletion(r.state, r.ctx)
	d.awaited = awaited
	r.mu.Lock()
	failed := r.why == ErrNoQuorum || r.why == ErrTokenRace
	r.mu.Unlock()
	// A waiter that was refused by this round's keys is notified when they are gone. But if a
	// majority is down each round is lost, and waiters would notify each other as fast as they
	// can.
	//guard:no-notice-of-failed-rounds  a round that was lost because instances failed, or cannot agree on a token, notifies no waiter
	if !failed {
		d.notifyWaiters()
	}
	d.start()
	return d
}
