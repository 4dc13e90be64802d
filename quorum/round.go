package quorum

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

// round is one attempt to win a lease: one value, one vote from each instance,
// one decision. It has two stages. In the first the instances vote; when a
// quorum has granted, the token is the largest of their counters. If these
// differ, the second stage raises the lower ones, and the round is won when a
// quorum has the token.
//
// Why tokens rise. Let A and B be won rounds and s an
// instance in both settled quorums, on which A was before B. When A was settled
// on s, s's counter was at least T_A while A's value was still the key's: its own
// vote was T_A, or a raise found the value in place. B's grant on s came after
// A's value was gone, and it incremented: B's vote on s >= T_A+1. And T_B >= B's
// vote on s, because only instances whose vote is at most T_B are settled for B.
// So T_A < T_B, whatever clocks and pauses do, as long as s kept its data.
//
// A round that takes spare tokens increments by 1+Spare, T is the last of what it takes,
// and the others are right below: then B's vote on s >= T_A+1+Spare, and B's first token
// is still above T_A, which is A's last.
//
// If s didn't. Let s have been restarted, or replaced by a replica, after A was settled
// on it, and have come back with older data. B's vote counts only if s gave it in the
// life that B's command named (see standing.counts), and the first grant of a new life
// lifts a counter that was last granted from in another one, or that is missing, to s's
// clock (see Command.Life): B's vote on s is later than s's clock was then. No client
// asks s for a vote before its quarantine is over, so that this is later than the end of
// the life in which A was settled on s by the length of a quarantine. And s's counter,
// of at least T_A by that end, was no later than the latest of all servers' clocks at
// that moment: a counter begins at its server's clock, is lifted to that or to another
// server's counter, and is raised by one for each token, of which a key has fewer than
// one a microsecond: a round takes maxTurns of them at most, and lasts longer than as many
// microseconds, with its release (some 300 on loopback). So T_A < T_B all the same, if
// server clocks differ by less than a quarantine's length (one that was ahead and was
// set back counts as it was).
//
// What that takes, beside clocks:
//   - run ids are told, and RestartQuarantine is on. A client that doesn't know a life
//     names none, and goes on from what it finds.
//   - whoever asks s knows that it has to wait: it has seen the earlier life, or s tells
//     its uptime. A client that begins after a failover to a replica that has been up for
//     long knows neither, and one for which somebody vouches, or whose disk has
//     everything, isn't waited for: clocks must agree to within the time that s was down.
//   - no life is led twice. A master that is demoted and becomes master again without a
//     restart, and without what its successor granted, has the run id that it had.
//
// A counter that is evicted or flushed in the midst of a life starts from the clock as
// well, but nobody waits: clocks must agree to within the time from A to B.
type round struct {
	c    *core
	hold hold
	cmd  Command
	ctx  context.Context // detached: the votes outlive the caller

	decided chan struct{} // closed when the round is
	seats   []seat

	mu      sync.Mutex
	stage   stage
	ballots []Ballot
	tally   Tally
	token   fencing.Token
	settled Tally       // in the second stage: Granted counts instances that have the token
	lost    error       // why, once lost
	last    []Ballot    // the ballots at the decision, once lost
	former  *succession // the lease that this round replaces, if any
}

type stage uint8

const (
	voting stage = iota
	raising
	won
	lost
)

func (c *core) newRound(ctx context.Context, key, value string, terms Terms) *round {
	r := &roundRoom{round: round{
		c: c,
		cmd: Command{
			Op: Acquire, Key: key, Value: value, TTL: terms.TTL,
			Fence: c.cfg.Fencing == On, CounterTTL: c.cfg.CounterTTL, Set: c.cfg.Set,
		},
		ctx:     context.WithoutCancel(ctx),
		decided: make(chan struct{}),
		tally:   Tally{Majority: c.majority},
		settled: Tally{Majority: c.majority},
	}}
	n := len(c.members)
	r.hold.init(c, key, value, room(r.spotRoom[:], n))
	r.ballots = c.pending(room(r.ballotRoom[:], n))
	r.seats = room(r.seatRoom[:], n)
	return &r.round
}

// roundRoom is a round and what it has of each instance in one piece of memory: they
// live as long, and one piece costs less than five.
type roundRoom struct {
	round
	spotRoom   [usual]spot
	ballotRoom [usual]Ballot
	seatRoom   [usual]seat
}

// usual is how many instances there is room for in one piece of memory.
const usual = 5

// room gives n elements, of those that are there if they suffice.
func room[T any](there []T, n int) []T {
	if n <= len(there) {
		return there[:n:n]
	}
	return make([]T, n)
}

// pending makes ballots what they are before anybody has answered.
func (c *core) pending(ballots []Ballot) []Ballot {
	for i, m := range c.members {
		ballots[i] = Ballot{Instance: m.name, Vote: Vote{Err: ErrPending}}
	}
	return ballots
}

// way is how a round is run.
type way struct {
	oneFirst bool        // ask one instance, and the others only if it grants
	former   *succession // a lease of this process to follow
	spare    int         // how many tokens to take for those who will follow
}

// tryOnce runs one round and gives the lease, or an error after everything that
// the round left on responsive instances has been deleted.
func (c *Coordinator) tryOnce(ctx context.Context, key string, try int, way way) (*Lease, *RoundError) {
	hooks := &c.cfg.Hooks
	value, err := c.newValue()
	if err != nil {
		if way.former != nil {
			way.former.decline()
		}
		return nil, &RoundError{Op: Acquire, Key: key, Verdict: err, Quorum: c.majority.Q}
	}
	if hooks.RoundStarted != nil {
		hooks.RoundStarted(ctx, RoundStart{Op: Acquire, Key: key, Try: try})
	}
	// Before the first SET is sent: no instance starts counting the TTL earlier.
	start := c.reader.Now()
	r := c.newRound(ctx, key, value, c.terms)
	r.cmd.Spare = way.spare
	if way.former != nil {
		way.former.take(r)
	}
	interrupt := r.run(ctx, way.oneFirst, start)

	now := c.reader.Now()
	validity := c.cfg.Drift.Validity(c.terms.TTL, drift.Elapsed(start, now))
	verdict := r.verdict(interrupt, validity, c.terms.MinValidity)

	end := RoundEnd{Op: Acquire, Key: key, Try: try, Started: start.Wall, Took: drift.Elapsed(start, now)}
	if verdict != nil {
		roundErr := &RoundError{Op: Acquire, Key: key, Verdict: verdict, Quorum: c.majority.Q, Votes: r.decisive()}
		if verdict == ErrInterrupted {
			roundErr.Cause = causeOf(ctx)
		}
		r.rollBack(ctx)
		if hooks.RoundDecided != nil {
			end.Err, end.Ballots = roundErr, roundErr.Votes
			hooks.RoundDecided(ctx, end)
		}
		return nil, roundErr
	}
	if hooks.RoundDecided != nil {
		end.Token, end.Validity, end.Ballots = r.first(), validity, r.snapshot()
		hooks.RoundDecided(ctx, end)
	}
	return newLease(c, r, start), nil
}

// first is the first of the tokens that a won round took.
func (r *round) first() fencing.Token {
	return r.token - fencing.Token(r.cmd.Spare)
}

// run sends the commands and returns when the round is decided, or with what
// interrupted it.
func (r *round) run(ctx context.Context, oneFirst bool, start drift.Instant) error {
	if oneFirst {
		if done, interrupt := r.askOneFirst(ctx); done || interrupt != nil {
			return interrupt
		}
		start = r.c.reader.Now()
	}
	for i := range r.c.members {
		if !r.seats[i].asked {
			r.ask(i, nil, start)
		}
	}
	return r.await(ctx, r.decided)
}

// askOneFirst asks the instances one by one, in an order that is the same for
// all clients, until one answers. After a round that was split between several
// clients only one of them passes it, and the next fan-out isn't split again. It
// reports whether the round is decided by that.
func (r *round) askOneFirst(ctx context.Context) (done bool, interrupt error) {
	for _, i := range r.c.orderFor(r.cmd.Key) {
		answered := make(chan struct{})
		r.ask(i, answered, drift.Instant{})
		if err := r.await(ctx, answered); err != nil {
			return false, err
		}
		if isClosed(r.decided) {
			return true, nil
		}
		switch r.ballot(i).Vote.Outcome {
		case Granted:
			return false, nil
		case Refused:
			r.forfeit()
			return true, nil
		}
	}
	return false, nil
}

// orderFor is the order in which instances are asked one by one about a key:
// by a hash of both names, so that different keys begin with different
// instances, and all clients that give the instances the same names agree. Those
// whose last command had no answer come last.
func (c *core) orderFor(key string) []int {
	rank := make([]uint64, len(c.members))
	order := make([]int, len(c.members))
	silent := make([]bool, len(c.members))
	prefix := hashOf(hashOf(hashStart, key), "\x00")
	for i, m := range c.members {
		rank[i], order[i], silent[i] = hashOf(prefix, m.name), i, m.silent.Load()
	}
	slices.SortFunc(order, func(a, b int) int {
		if silent[a] != silent[b] {
			if silent[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b))
	})
	return order
}

// await waits for an event of this round; other ends are returned as errors.
func (r *round) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ErrInterrupted
	case <-r.c.background.done:
		return ErrClosed
	}
}

// ask queues instance i's part of the round. answered, if not nil, is closed when
// its vote is in.
func (r *round) ask(i int, answered chan struct{}, now drift.Instant) {
	s := &r.seats[i]
	// Only the goroutine that runs the round writes these.
	s.round, s.i, s.asked, s.answered = r, i, true, answered
	s.errand = r.hold.errand(i, r.ctx, s)
	s.errand.voting = true
	r.hold.queue(i, s, now)
}

// seat is one instance's part in a round: its vote, and perhaps a raise.
type seat struct {
	round    *round
	i        int
	errand   errand
	asked    bool
	answered chan struct{}

	// Guarded by the round's lock.
	voted   bool // its vote is in, and it waits for the first stage to end
	raising bool // it is being raised to the token
}

func (s *seat) begin(now drift.Instant) { s.errand.run(s.round.cmd, now) }

func (s *seat) returned(ballot Ballot) {
	r := s.round
	if s.raising { // written before the raise was sent, and never again
		r.countRaise(s.i, ballot)
		r.hold.ended(s.i)
		return
	}
	r.hold.note(s.i, Acquire, ballot.Vote)
	r.count(s.i, ballot)
	if s.answered != nil {
		close(s.answered)
	}
	if r.former != nil {
		r.former.settle(r.ctx, s.i, ballot.Vote)
	}
	r.moveOn()
}

// moveOn is called after everything that may have ended the first stage: those who
// voted and are behind the token are raised to it, the others are done. Nobody has
// to wait for that meanwhile.
func (r *round) moveOn() {
	r.mu.Lock()
	if r.stage == voting {
		r.mu.Unlock()
		return
	}
	var few [8]*seat
	ready, token := few[:0], r.token
	for i := range r.seats {
		if s := &r.seats[i]; s.voted {
			s.voted, s.raising = false, r.behind(i)
			ready = append(ready, s)
		}
	}
	r.mu.Unlock()
	for _, s := range ready {
		if !s.raising {
			r.hold.ended(s.i)
			continue
		}
		s.errand.voting = false
		s.errand.run(Command{Op: Raise, Key: r.cmd.Key, Value: r.cmd.Value, Token: token, CounterTTL: r.cmd.CounterTTL}, drift.Instant{})
	}
}

// count takes in a vote.
func (r *round) count(i int, ballot Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ballots[i] = ballot
	r.seats[i].voted = true
	switch r.stage {
	case voting:
		switch r.tally.Count(ballot.Vote.Outcome) {
		case Won:
			r.beginRaising()
		case Lost:
			r.finish(lost, r.tally.Reason())
		}
	case raising:
		// A straggler may still help, see behind; its vote is settled there.
		r.settle(i)
	case won:
		// Too late to be needed, but the lease has it, and its token: there is
		// nothing to put back with an extension.
		if vote := ballot.Vote; vote.Outcome == Granted && vote.Token >= r.token {
			r.hold.settle(i)
		}
	}
}

// beginRaising ends the first stage: the token is fixed now.
func (r *round) beginRaising() {
	r.stage = raising
	for i := range r.ballots {
		if vote := r.ballots[i].Vote; vote.Outcome == Granted {
			r.token = max(r.token, vote.Token)
		}
	}
	for i := range r.ballots {
		if r.ballots[i].Vote.Err != ErrPending {
			r.settle(i)
		}
	}
}

// settle counts instance i for the token, as far as its vote alone tells: it has
// it, can't have it, or has yet to be raised to it.
func (r *round) settle(i int) {
	if r.stage != raising {
		return
	}
	vote := r.ballots[i].Vote
	switch {
	case vote.Outcome == Granted && vote.Token == r.token:
		r.hold.settle(i)
		r.countSettled(Granted)
	case vote.Outcome == Granted && vote.Token < r.token:
		// To be raised; counted when that is answered.
	case vote.Outcome == Granted:
		// A straggler whose counter was above the token. It has no need of a
		// raise, but it doesn't count either: the proof needs T >= the vote of
		// every instance that is settled, and T is fixed.
		r.hold.settle(i)
		r.countSettled(Failed)
	default:
		r.countSettled(Failed)
	}
}

func (r *round) countSettled(o Outcome) {
	if r.stage != raising {
		return
	}
	switch r.settled.Count(o) {
	case Won:
		r.finish(won, nil)
	case Lost:
		r.finish(lost, ErrTokenRace)
	}
}

// behind says whether instance i's counter has to be lifted to the token. r.mu is
// held.
func (r *round) behind(i int) bool {
	vote := r.ballots[i].Vote
	// In a round that is won already the straggler is raised as well: its
	// counter then helps the next holder's proof.
	return vote.Outcome == Granted && vote.Token < r.token && (r.stage == raising || r.stage == won)
}

func (r *round) countRaise(i int, ballot Ballot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Granted means that the key still held the value: "still mine" is part of
	// success, for a counter raised after the key was lost proves nothing.
	if ballot.Vote.Outcome == Granted {
		r.hold.settle(i)
		r.countSettled(Granted)
		return
	}
	r.countSettled(Failed)
}

// forfeit gives up a round in which the one instance that was asked refused.
func (r *round) forfeit() {
	r.mu.Lock()
	if r.stage == voting {
		r.finish(lost, ErrTaken)
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
		if r.ballots[i].Vote.Outcome == Granted {
			waitFor[i] = true
			missing++
		}
	}
	r.mu.Unlock()

	deleted := make(chan struct{}, len(r.ballots))
	r.hold.release(r.ctx, nil, func(i int, _ Ballot) {
		if waitFor[i] {
			deleted <- struct{}{}
		}
	})
	for ; missing > 0; missing-- {
		select {
		case <-deleted:
		case <-ctx.Done():
			return
		case <-r.c.background.done:
			return
		}
	}
}

func (r *round) ballot(i int) Ballot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ballots[i]
}

func (r *round) snapshot() []Ballot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ballots)
}

// decisive is the ballots at the moment at which the round was lost. What waiting
// does next follows from these, and not from those that happen to have come in
// when it is looked at.
func (r *round) decisive() []Ballot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
