package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/internal/rendezvous"
	"github.com/redquorum/redlock/quorum/wire"
)

// round is one attempt to win a lease: one value, one vote from each instance,
// one decision. It has two stages. In the first the instances vote; when a
// quorum has granted, the round chooses its token (see choose), usually the largest of
// their counters. If these differ, the second stage raises the lower ones, and the
// round is won when a quorum has the token. Those instances are its settled quorum.
//
// A round that reserves tokens has several: T, the last one, and those below it down to
// its first, F. Without reserved tokens F is T. For each settled instance F is at least
// the first token of that instance's vote, and T at least the last one.
//
// Why tokens rise. Let A and B be won rounds, A the earlier one, and s an instance in
// both settled quorums. The claim is that T_A < F_B.
//
// If s kept its data. When A was settled on s, s's counter was at least T_A while A's
// value was still the key's: either A's vote there was T_A, or a raise found the value in
// place. B's grant on s came after A's value had gone, and it counted on from there, so
// the first token of B's vote on s is above T_A. F_B is no less than that. Clocks and
// pauses have no part in this.
//
// If s lost its data after A was settled on it, or came back with older data, by a
// restart or by a replica that took its place. This part takes three steps, each of which
// some line enforces, and one assumption.
//
//  1. When A was settled on s, s's clock showed at least T_A - Ahead, where Ahead is half
//     of MaxTTL (Config.ahead). s refuses a grant and a raise beyond that: most in
//     counter.lua bounds every grant, and lift.lua every lift.
//  2. B asked s for a vote at least MaxTTL later. No client asks a server that was
//     restarted or replaced before that (quarantine.identify), and a vote counts only
//     from the run of the server that the command named (standing.counts).
//  3. The first token of B's vote on s is above s's clock at B. The first grant in a run
//     of the server lifts a counter that was last granted from in another run, or is
//     missing, to the clock (count in grant.lua; see Request.Run).
//
// The assumption: what s's clock showed at A, and what the clock of s, or of the server in
// its place, shows at B, differ by the time that passed between them, give or take half of
// MaxTTL. MaxTTL or more has passed, so the clock shows at least half of MaxTTL more: at
// least T_A. Hence T_A < F_B. How fast tokens are given doesn't matter: a server that gives
// them faster than its clock ticks gives fewer reserved ones, and then none.
//
// If the clocks are further apart than that, and all instances in both quorums lost their
// data as well, F_B may be below T_A, by no more than the excess. A resource that has
// seen T_A then refuses B. Verify tells of servers whose clocks are that far apart.
//
// What else the second part takes:
//   - Run IDs are told, and RestartQuarantine is on. A client that doesn't know a run
//     names none, and goes on from what it finds.
//   - Whoever asks s knows that it has to wait: it has seen the earlier run, or the mark
//     on s is young, or s tells its uptime. A client that begins after a failover to a replica that has been up for
//     long knows neither, and it doesn't wait for a server that somebody vouches for. Then
//     only the time that s was down has passed between A and B.
//   - No run is led twice. A master that is demoted and becomes master again without a
//     restart, and without what its successor granted, has the run ID that it had, but
//     another replication ID, and another mark or none.
//
// A counter that is evicted within a run, or flushed where no mark is kept, starts from
// the clock as well, but nobody waits. In these three cases tokens rise if T_A was no further ahead of s's clock
// than the time from A to B. It usually is behind that clock: a counter gets ahead of its
// server's clock only where another server's clock is ahead.
type round struct {
	poll
	c     *core
	state valueState
	cmd   wire.Request

	resumes bool // it takes a lease over, see Handle

	// Guarded by the poll's lock.
	stage    stage
	token    fencing.Token  // the last of the round's, once they are chosen
	reserved int            // how many more there are, right below it
	settled  majority.Tally // in the second stage: Granted counts instances that have the token
	lost     error          // why, once lost
	last     []Ballot       // the ballots at the decision, once lost
	raises   []Ballot       // what kept instances that granted from having the token
}

type stage uint8

const (
	voting stage = iota
	raising
	won
	lost
)

func (c *core) newRound(ctx context.Context, key, value string, terms Terms) *round {
	r := &roundBuffer{round: round{
		c: c,
		cmd: wire.Request{
			Op: wire.Acquire, Key: key, Value: value, TTL: terms.TTL,
			//guard:set-is-sent  every grant names the set of instances, so that clients that disagree on it get no lock
			Fence: wire.Fence{On: c.cfg.Fencing == On, TTL: c.cfg.CounterTTL, Set: c.cfg.Set, Ahead: c.cfg.ahead()}, Clock: c.cfg.Fencing == On,
		},
		settled: majority.Tally{Majority: c.majority},
	}}
	n := len(c.members)
	r.state.init(c, key, value, buffer(r.slotBuffer[:], n))
	r.poll.init(&r.state, context.WithoutCancel(ctx), &r.round, buffer(r.ballotBuffer[:], n), buffer(r.partBuffer[:], n))
	return &r.round
}

// roundRoom is a round and what it has of each instance in one piece of memory: they
// live as long, and one piece costs less than five.
type roundBuffer struct {
	round
	slotBuffer   [usual]slot
	ballotBuffer [usual]Ballot
	partBuffer   [usual]part
}

// usual is how many instances there is room for in one piece of memory.
const usual = 5

// room gives n elements, of those that are there if they suffice.
func buffer[T any](there []T, n int) []T {
	if n <= len(there) {
		return there[:n:n]
	}
	return make([]T, n)
}

// pending makes ballots what they are before anybody has answered.
func (c *core) pending(ballots []Ballot) []Ballot {
	for i, m := range c.members {
		ballots[i] = Ballot{Instance: m.name, Vote: wire.Vote{Err: ErrPending}}
	}
	return ballots
}

// roundOptions say how a round is run.
type roundOptions struct {
	oneFirst bool        // ask one instance, and the others only if it grants
	reserve  int         // how many tokens to reserve for successors
	replace  string      // a value of an earlier round that may have been left behind, or of a handle
	resumes  bool        // only instances that have that value count
	tried    *valueState // tryOnce sets it: the round's value
}

// tryOnce runs one round and gives the lease, or an error after everything that
// the round left on responsive instances has been deleted.
func (c *Coordinator) tryOnce(ctx context.Context, key string, try int, opts *roundOptions) (*Lease, *RoundError) {
	hooks := &c.cfg.Hooks
	asked := c.reader.Now()
	sample, err := c.admission.Enter(asked)
	if err != nil {
		return nil, c.notAdmitted(ctx, key, try, asked, err)
	}
	left := false
	defer func() {
		// Also after a panic in a hook, which a server may recover from, as net/http does.
		//guard:admission-after-panic  a round whose hook panics is no longer counted as under way
		if !left {
			c.admission.Leave(sample, false, false, asked)
		}
	}()
	value, err := c.random.Value(c.cfg.Owner)
	if err != nil {
		return nil, &RoundError{Op: wire.Acquire, Key: key, Verdict: err, Quorum: c.majority.Q}
	}
	if hooks.RoundStarted != nil {
		hooks.RoundStarted(ctx, RoundStart{Op: wire.Acquire, Key: key, Try: try})
	}
	// Before the first SET is sent: no instance starts counting the TTL earlier.
	//guard:start-before-send  the validity counts from before the first SET
	start := c.reader.Now()
	//guard:resumed-under-new-value  a resumed lease has a value of its own, which nothing late of the sender can touch
	r := c.newRound(ctx, key, value, c.terms)
	r.cmd.Fence.Reserve, r.cmd.Replace, r.resumes, opts.tried = opts.reserve, opts.replace, opts.resumes, &r.state
	interrupt := r.run(ctx, opts.oneFirst, start)

	now := c.reader.Now()
	//guard:round-time-counts  the time that a round took is taken off the validity
	validity := c.cfg.Drift.Validity(c.terms.TTL, drift.Elapsed(start, now))
	verdict := r.verdict(interrupt, validity, c.terms.MinValidity)
	c.admission.Leave(sample, verdict == nil, verdict == nil || verdict == ErrTaken, now)
	left = true

	end := RoundEnd{Op: wire.Acquire, Key: key, Try: try, Started: start.Wall, Took: drift.Elapsed(start, now)}
	if verdict != nil {
		roundErr := &RoundError{Op: wire.Acquire, Key: key, Verdict: verdict, Quorum: c.majority.Q}
		roundErr.Votes, roundErr.Raises = r.decisive()
		switch verdict {
		case ErrInterrupted:
			roundErr.Cause = causeOf(ctx)
		case ErrTaken:
			roundErr.Holder = holderIn(roundErr.Votes, c.majority.Q)
		}
		//guard:rollback  a lost round deletes what it has set
		r.rollBack(ctx)
		if hooks.RoundDecided != nil {
			end.Err, end.Ballots = roundErr, roundErr.Votes
			hooks.RoundDecided(ctx, end)
		}
		return nil, roundErr
	}
	lease := newLease(c, r, start)
	if hooks.RoundDecided != nil {
		end.Token, end.Validity, end.Ballots = r.first(), validity, r.snapshot()
		c.tell(lease, func() { hooks.RoundDecided(ctx, end) })
	}
	return lease, nil
}

// tell calls a hook before its caller is given the lease. If the hook panics, nobody is
// given it. Then it is released, so that its keys don't stay for a TTL.
func (c *core) tell(lease *Lease, hook func()) {
	told := false
	defer func() {
		if !told {
			//guard:panic-releases  a lease that no caller gets because a hook panics is released
			c.discard(lease)
		}
	}()
	hook()
	told = true
}

// notAdmitted is the error of a round that there is no time for. Hooks are told of it like
// of any other.
func (c *core) notAdmitted(ctx context.Context, key string, try int, asked drift.Instant, why error) *RoundError {
	err := &RoundError{Op: wire.Acquire, Key: key, Verdict: why, Quorum: c.majority.Q}
	if started := c.cfg.Hooks.RoundStarted; started != nil {
		started(ctx, RoundStart{Op: wire.Acquire, Key: key, Try: try})
	}
	if decided := c.cfg.Hooks.RoundDecided; decided != nil {
		decided(ctx, RoundEnd{Op: wire.Acquire, Key: key, Try: try, Started: asked.Wall, Err: err})
	}
	return err
}

// first is the first of a round's tokens.
//
//guard:reserved-below-token  the reserved tokens are settled together with the token
func (r *round) first() fencing.Token { return r.token - fencing.Token(r.reserved) }

// run sends the commands and returns when the round is decided, or with what
// interrupted it.
func (r *round) run(ctx context.Context, oneFirst bool, start drift.Instant) error {
	if oneFirst {
		if done, interrupt := r.askOneFirst(ctx); done || interrupt != nil {
			return interrupt
		}
		start = r.c.reader.Now()
	}
	r.askAll(start)
	return r.await(ctx, r.decided)
}

// askOneFirst asks the instances one by one, in an order that is the same for
// all clients, until one answers. After a round that was split between several
// clients only one of them passes it, and the next fan-out isn't split again. It
// reports whether the round is decided by that.
func (r *round) askOneFirst(ctx context.Context) (done bool, interrupt error) {
	for _, i := range rendezvous.Order(r.cmd.Key, memberOrder{r.c}) {
		voted := make(chan struct{})
		r.part(i).voted = voted
		r.ask(i, drift.Instant{})
		if err := r.await(ctx, voted); err != nil {
			return false, err
		}
		if r.isDecided() {
			return true, nil
		}
		switch r.ballot(i).Vote.Outcome {
		case wire.Granted:
			return false, nil
		case wire.Refused:
			r.forfeit()
			return true, nil
		}
	}
	return false, nil
}

// await waits for an event of this round; other ends are returned as errors.
func (r *round) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ErrInterrupted
	case <-r.c.background.Closing():
		return ErrClosed
	}
}

func (r *round) firstRequest(int) (wire.Request, use, wire.Outcome) {
	return r.cmd, newVote, wire.Failed
}

func (r *round) answered(i int, second bool, ballot Ballot) {
	if second {
		r.countRaise(i, ballot)
		return
	}
	r.state.note(i, wire.Acquire, ballot.Vote)
}

func (r *round) open() bool { return r.stage == voting }

// secondRequest raises an instance that is behind the token.
func (r *round) secondRequest(i int) (wire.Request, bool) {
	return wire.Request{
		Op: wire.Raise, Key: r.cmd.Key, Value: r.cmd.Value,
		Fence: wire.Fence{On: true, Token: r.token, TTL: r.cmd.Fence.TTL, Ahead: r.cmd.Fence.Ahead},
	}, r.behind(i)
}

// count takes in a vote. r.mu is held.
func (r *round) count(i int, vote *wire.Vote) {
	switch r.stage {
	case voting:
		outcome := vote.Outcome
		//guard:resume-replaces  a resumption counts only the instances that still had the lease
		if r.resumes && outcome == wire.Granted && !vote.Replaced {
			// The key had gone, so somebody else may have had the lock there since: as
			// in an extension, an instance that has to be repaired doesn't count.
			outcome = wire.Refused
		}
		switch r.tally.Count(outcome) {
		case majority.Won:
			r.beginRaising()
		case majority.Lost:
			r.finish(lost, r.reason())
		}
	case raising:
		// A straggler may still help, see behind; its vote is settled there.
		r.settle(i)
	case won:
		// Too late to be needed, but the lease has it, and its token: there is
		// nothing to put back with an extension.
		//guard:late-has-the-token  a late grant below the token is noted as lacking it
		if vote.Outcome == wire.Granted && vote.Token >= r.token {
			r.state.settle(i)
		}
	}
}

// beginRaising ends the first stage, if a token can be chosen: it is fixed then. Else the
// round goes on voting while those who have yet to vote can help.
func (r *round) beginRaising() {
	token, spare, agree := r.choose()
	if agree < r.settled.Q {
		//guard:race-not-given-up  a round that has its grants but no token goes on while a missing vote can still help
		if agree+r.tally.Missing() < r.settled.Q {
			r.blame(token)
			r.finish(lost, ErrTokenRace)
		}
		return
	}
	r.stage, r.token, r.reserved = raising, token, spare
	for i := range r.ballots {
		if r.ballots[i].Vote.Err != ErrPending {
			r.settle(i)
		}
	}
}

// choose finds the token that the round can be settled with: the largest of the votes'
// that a quorum can have. It gives how many instances can have it, and how many tokens
// right below it are the round's as well. With fewer than a quorum it gives the token
// that the most can have, the lowest of several.
//
// It isn't simply the largest vote: a server whose clock is far ahead may have started a
// lost counter from that clock, and the others would be lifted along. Such a server costs
// its own vote and no more.
func (r *round) choose() (token fencing.Token, spare, agree int) {
	for i := range r.ballots {
		vote := &r.ballots[i].Vote
		if vote.Outcome != wire.Granted || agree > 0 && vote.Token == token {
			continue
		}
		n, first := 0, fencing.Token(0)
		for j := range r.ballots {
			if other := &r.ballots[j].Vote; r.canHave(other, vote.Token) {
				n++
				//guard:first-is-new  a round's reserved tokens are new on each instance that counts for the token
				first = max(first, firstOf(other))
			}
		}
		//guard:largest-token  the token is the largest that a quorum can have
		if n >= r.settled.Q && (agree < r.settled.Q || vote.Token > token) ||
			agree < r.settled.Q && (n > agree || n == agree && vote.Token < token) {
			token, spare, agree = vote.Token, int(vote.Token-first), n
		}
	}
	return token, spare, agree
}

// canHave reports whether an instance that gave this vote can be settled with the token:
// it gave none above it, and its counter may be lifted so far ahead of its clock.
func (r *round) canHave(vote *wire.Vote, token fencing.Token) bool {
	//guard:no-vote-above  no instance that counts for a token has granted a larger one
	return vote.Outcome == wire.Granted && vote.Token <= token &&
		//guard:clock-bounds-token  a server counts for a token only if its clock lets its counter go so far
		(vote.Clock.IsZero() || vote.Token == token || int64(token) <= vote.Clock.Add(r.cmd.Fence.Ahead).UnixMicro())
}

// firstOf is the first of a vote's tokens.
func firstOf(vote *wire.Vote) fencing.Token { return vote.Token - fencing.Token(vote.Reserved) }

// blame notes who kept the others from agreeing on a token.
func (r *round) blame(token fencing.Token) {
	for i := range r.ballots {
		vote := &r.ballots[i].Vote
		if vote.Outcome != wire.Granted || r.canHave(vote, token) {
			continue
		}
		by, word := time.Duration(int64(vote.Token-token))*time.Microsecond, "ahead of"
		if vote.Token < token {
			by, word = time.UnixMicro(int64(token)).Sub(vote.Clock), "behind"
		}
		r.raises = append(r.raises, Ballot{Instance: r.ballots[i].Instance, Vote: wire.Vote{Err: fmt.Errorf(
			"its counter, which starts from its clock, is %v %s those of other instances, which follow by %v at most (half of MaxTTL); set the clocks of the servers right, or wait until they have caught up",
			by, word, r.cmd.Fence.Ahead)}})
	}
}

// settle counts instance i for the token, as far as its vote alone tells: it has
// it, can't have it, or has yet to be raised to it.
func (r *round) settle(i int) {
	if r.stage != raising {
		return
	}
	vote := &r.ballots[i].Vote
	switch {
	case vote.Outcome != wire.Granted:
		r.countSettled(wire.Failed)
	//guard:lower-is-raised  a counter below the token is raised before it counts
	case vote.Token < r.token:
		// To be raised; counted when that is answered.
	default:
		r.state.settle(i)
		r.countSettled(r.settles(i))
	}
}

// settles is Granted if an instance that has the token stands for it. One that gave a
// larger one, or reserved fewer than the round has, doesn't: the proof needs the round's
// first token to be no less than that of every vote that is settled, and its last one no
// less than the last. The tokens are fixed, so only a straggler can be such a one, or an
// instance that the choice left out.
func (r *round) settles(i int) wire.Outcome {
	vote := &r.ballots[i].Vote
	//guard:above-is-not-settled  a late grant above the token doesn't count for it
	//guard:reserved-is-settled  a late grant that reserved fewer tokens than the round has doesn't count for it
	if vote.Token <= r.token && firstOf(vote) <= r.first() {
		return wire.Granted
	}
	r.note(Ballot{Instance: r.ballots[i].Instance, Vote: wire.Vote{Err: fmt.Errorf("it granted the tokens %d to %d, when the round had settled on %d to %d", firstOf(vote), vote.Token, r.first(), r.token)}})
	return wire.Failed
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

// behind says whether instance i's counter has to be lifted to the token. r.mu is
// held.
func (r *round) behind(i int) bool {
	vote := r.ballots[i].Vote
	// In a round that is won already the straggler is raised as well: its
	// counter then helps the next holder's proof.
	//guard:late-lower-is-raised  a late grant below the token has its counter raised, too
	return vote.Outcome == wire.Granted && vote.Token < r.token && (r.stage == raising || r.stage == won)
}

func (r *round) countRaise(i int, ballot Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Granted means that the key still held the value: "still mine" is part of
	// success, for a counter raised after the key was lost proves nothing.
	//guard:raise-granted  a raise counts only if the instance confirms that the key is still the lease's
	if ballot.Vote.Outcome == wire.Granted {
		r.state.settle(i)
		r.countSettled(r.settles(i))
		return
	}
	r.note(ballot)
	r.countSettled(wire.Failed)
}

// note keeps what kept an instance that granted from having the token. r.mu is held.
func (r *round) note(ballot Ballot) {
	if r.stage == raising {
		r.raises = append(r.raises, ballot)
	}
}

// reason says why a round was lost in its first stage. Refusals for the set's sake
// aren't the key's: where they decided, or nothing else was refused, the lock
// may well be free. r.mu is held.
func (r *round) reason() error {
	others := 0
	for i := range r.ballots {
		if isOtherSet(r.ballots[i].Vote) {
			others++
		}
	}
	if others > 0 && !r.tally.FailuresDecide() && (others == r.tally.Refused || others >= r.tally.Blocking()) {
		return ErrSetMismatch
	}
	switch {
	case !r.resumes && !r.tally.FailuresDecide():
		return ErrTaken
	case r.resumes && r.tally.RefusalsDecide():
		return ErrLost // another holder's key, or none, is in the lease's place
	default:
		return ErrNoQuorum // with these failures the refusals say nothing of the lock
	}
}

// isOtherSet reports whether a vote was refused because the clients disagree on the
// set.
func isOtherSet(v wire.Vote) bool {
	return v.Outcome == wire.Refused && errors.Is(v.Err, ErrSetMismatch)
}

// forfeit gives up a round in which the one instance that was asked refused.
func (r *round) forfeit() {
	r.mu.Lock()
	if r.stage == voting {
		if why := r.reason(); errors.Is(why, ErrSetMismatch) {
			r.finish(lost, why)
		} else {
			r.finish(lost, ErrTaken)
		}
	}
	r.mu.Unlock()
	r.moveOn()
}

// finish decides the round. r.mu is held.
func (r *round) finish(s stage, why error) {
	r.stage, r.lost = s, why
	if s == lost {
		r.last = slices.Clone(r.ballots)
	}
	close(r.decided)
}

// verdict is nil if the round gives a lease. It is final: what isn't won by now
// never will be.
func (r *round) verdict(interrupt error, validity, least time.Duration) error {
	defer r.moveOn()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	//guard:validity-left  a round that leaves too little validity gives no lease
	case r.stage == won && (validity <= 0 || validity < least):
		// A quorum of grants doesn't make a lease if they came too late: the
		// first of them may have expired (scenario S3).
		r.stage, r.lost, r.last = lost, ErrTooSlow, slices.Clone(r.ballots)
	case r.stage == voting || r.stage == raising:
		r.finish(lost, interrupt)
	}
	return r.lost
}

// rollBack deletes what the round has set: on all instances, for a failed vote
// may have been carried out. It returns when those that are known to have
// granted have answered the delete; the others are seen to in the background.
func (r *round) rollBack(ctx context.Context) {
	r.mu.Lock()
	waitFor := make([]bool, len(r.ballots))
	missing := 0
	for i := range r.ballots {
		if r.ballots[i].Vote.Outcome == wire.Granted {
			waitFor[i] = true
			missing++
		}
	}
	r.mu.Unlock()

	deleted := make(chan struct{}, len(waitFor))
	//guard:rollback-detached  a lost round is rolled back even if its caller was cancelled
	d := newDeletion(&r.state, r.ctx)
	d.report = func(i int, _ *wire.Vote) {
		if waitFor[i] {
			deleted <- struct{}{}
		}
	}
	d.run()
	for ; missing > 0; missing-- {
		select {
		case <-deleted:
		case <-ctx.Done():
			return
		case <-r.c.background.Closing():
			return
		}
	}
}

// decisive is the ballots at the moment at which the round was lost. What waiting
// does next follows from these, and not from those that happen to have come in
// when it is looked at.
func (r *round) decisive() (votes, raises []Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.raises
}
