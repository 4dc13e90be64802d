package quorum

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// This file is about clients that try at once. Each may get some of the votes and none a quorum.
// If all of them then gave up nobody would have the lock, though it was free.
//
// One instance decides, the first in an order that is the same for all clients and keys, of those
// that answer. Whoever has its vote contends: it keeps its keys, and asks again under a new value
// that takes the place of the old one. All others delete theirs.
//
// Invariant: of the clients whose votes were split, one goes on until it has the lock, or sees who
// has it. Only one client has the first instance's vote, and that one doesn't give it up. Its votes
// only become more: it loses none that it has, and the others delete theirs within a round trip of
// their loss. A client that was refused there doesn't simply believe that the contender wins: it
// looks, without asking for a vote, until a client has a quorum, and contends again if the first
// instance is free. It also does so if the first instance has had one value for long: whoever set it
// has died, because one that contends replaces its value with each round. Then the next one decides.
//
// A lock that is held costs one round, because the first instance refuses, or a quorum names one
// value. So does a lock that is free and that nobody else wants.

// How long after its first round a try goes on, in InstanceTimeouts. The keys of a client that gave
// up are gone within two, unless it has crashed. A client that looks goes on for longer than
// one that contends, each of whose rounds may take one InstanceTimeout, and the first one more.
const (
	contendFor = 3
	lookFor    = 6
	stuckAfter = 2 // an instance that has one value for so long doesn't decide
)

// contest says who may get the lock, after a round that was lost to other clients.
type contest uint8

const (
	// taken: another client has it, or contends for it.
	taken contest = iota
	// mine: the votes were split, and this client has the first instance's.
	mine
	// theirs: the votes were split, and this client doesn't have the first instance's.
	theirs
)

// decider is the instance that decides a split: the first that voted, in the order that all clients
// agree on, -1 if none did. missed says that the vote of an earlier one may still come. The order lacks
// the instances that have the key of a client that died.
func (c *core) decider(order []int, votes []Ballot) (i int, missed bool) {
	for _, i := range order {
		switch vote := &votes[i].Vote; {
		case vote.Outcome != wire.Failed:
			return i, missed
		case vote.Err == ErrPending && !c.members[i].silent.Load():
			missed = true
		}
	}
	return -1, missed
}

// contestOf is the contest that the votes of a lost round show.
func (c *core) contestOf(order []int, votes []Ballot) contest {
	rivals := rivalsIn(votes)
	if rivals.most >= c.majority.Q {
		return taken
	}
	i, _ := c.decider(order, votes)
	switch {
	//guard:first-instance-decides  of clients whose votes were split, the one with the first instance's vote goes on
	case i >= 0 && votes[i].Vote.Outcome == wire.Granted:
		return mine
	case rivals.granted > 0 || rivals.different > 1:
		return theirs
	}
	return taken
}

// rivals are the other clients that the votes of a round show.
type rivals struct {
	granted   int // the votes that this client has
	different int // the values that are known to be in the way
	most      int // on how many instances the most frequent of them is
}

func rivalsIn(votes []Ballot) (r rivals) {
	for i := range votes {
		switch vote := &votes[i].Vote; {
		case vote.Outcome == wire.Granted:
			r.granted++
		case vote.Outcome == wire.Refused && vote.Holder != "":
			n := 0
			for j := range votes {
				if other := &votes[j].Vote; other.Outcome == wire.Refused && other.Holder == vote.Holder {
					if n++; j < i {
						n = -len(votes) // it was counted before
					}
				}
			}
			if n > 0 {
				r.different++
				r.most = max(r.most, n)
			}
		}
	}
	return r
}

// awaitDecider waits for the vote of the instance that decides a split, BackoffMin at most. It doesn't
// wait if one client is seen to have a quorum. The round was lost to other clients.
func (r *round) awaitDecider(ctx context.Context, order []int) {
	var over <-chan time.Time
	for {
		r.mu.Lock()
		copy(r.atLoss, r.ballots) // with the deciding vote, also if it came just after the loss
		waits := rivalsIn(r.ballots).most < r.c.majority.Q
		if waits {
			_, waits = r.c.decider(order, r.ballots)
		}
		if waits && r.late == nil {
			r.late = make(chan struct{}, 1)
			over = r.c.clock.After(r.c.cfg.BackoffMin)
		}
		r.mu.Unlock()
		if !waits {
			return
		}
		select {
		case <-r.late:
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-r.c.background.closing:
			return
		}
	}
}

// contend is one try of a caller that doesn't wait for the lock: a round, and others if the votes
// were split between clients that tried at once.
func (c *Coordinator) contend(ctx context.Context, all keys, try int, opts *roundOptions) (*Lease, *RoundError) {
	if err := c.takenHere(all); err != nil {
		return nil, err
	}
	c.background.add()
	//guard:kept-keys-before-close  Close waits until the keys that a try kept are deleted
	defer c.background.finish()
	opts.contends, opts.deciders = true, c.deciders
	lease, err := c.runRound(ctx, all, try, opts)
	//guard:split-is-resolved  a try whose votes were split goes on until one of the clients has the lock
	if err == nil || !opts.split {
		return lease, err
	}
	s := split{c: c, all: all, try: try, opts: opts, began: c.reader.Now().Mono, bound: c.cfg.BackoffMin}
	return s.resolve(ctx, err)
}

// split is a try whose votes were split.
type split struct {
	c     *Coordinator
	all   keys
	try   int
	opts  *roundOptions
	began time.Duration // by the monotonic clock
	bound time.Duration // of the next pause
	kept  *round        // the round whose keys this client keeps
	seen  []Ballot      // the last votes or looks

	looked bool          // the client has looked
	stuck  string        // the value that was on the deciding instance at every look
	since  time.Duration // when it was first seen there, by the monotonic clock
}

// resolve goes on after the first round.
func (s *split) resolve(ctx context.Context, lost *RoundError) (lease *Lease, err *RoundError) {
	//guard:kept-keys-are-deleted  the keys that a client kept after a split are deleted when its try is over
	defer s.drop() // also after a panic in a hook
	for {
		s.kept, s.opts.kept, s.seen = s.opts.kept, nil, lost.Votes
		if over := s.untilDue(ctx, lost); over != nil {
			if s.kept != nil {
				s.kept.rollBack(ctx)
				s.kept = nil
			}
			return nil, over
		}
		s.opts.deletes = s.opts.state.value // also if it isn't there any more
		if lease, lost = s.c.runRound(ctx, s.all, s.try, s.opts); lost == nil || !s.opts.split {
			return lease, lost
		}
		s.kept.delete(nil) // what hasn't been replaced
	}
}

func (s *split) drop() {
	s.kept.delete(nil)
	s.opts.kept.delete(nil)
}

// untilDue waits until another round is due. It returns an error if there is none.
func (s *split) untilDue(ctx context.Context, lost *RoundError) *RoundError {
	c, most := s.c, lookFor*s.c.cfg.InstanceTimeout
	if s.kept != nil && !s.looked {
		most = contendFor * c.cfg.InstanceTimeout
	}
	for ; ; s.bound = min(2*s.bound, c.cfg.InstanceTimeout/2) {
		left := most - (c.reader.Now().Mono - s.began)
		select {
		case <-c.clock.After(min(s.bound/2+c.random.jitter(s.bound/2), max(left, 0))):
		case <-ctx.Done():
			return lost.ending(ErrInterrupted, causeOf(ctx), nil)
		case <-c.background.closing:
			return lost.ending(ErrClosed, nil, nil)
		}
		if c.reader.Now().Mono-s.began >= most {
			if s.mayBeHeld() {
				return lost
			}
			return lost.ending(ErrSplit, nil, nil)
		}
		if s.kept != nil {
			s.bound = min(2*s.bound, c.cfg.InstanceTimeout/2)
			return nil
		}
		found := c.seeHolder(ctx, s.all, lost.Votes)
		if held := found.Held(); held != nil {
			held.Value = "" // it is enough to release the lock
			return lost.ending(ErrTaken, nil, held)
		}
		s.seen, s.looked = found.Votes, true
		// If none answers a round says why.
		i, _ := c.decider(s.opts.deciders, s.seen)
		if i < 0 || s.seen[i].Vote.Outcome == wire.Granted || s.isStuck(i) {
			return nil
		}
	}
}

// isStuck reports whether the value on the deciding instance is that of a client that has died. Then
// the next instance decides.
func (s *split) isStuck(decider int) bool {
	now := s.c.reader.Now().Mono
	if value := s.seen[decider].Vote.Holder; value != s.stuck {
		s.stuck, s.since = value, now
		return false
	}
	//guard:stuck-doesnt-decide  the key of a client that died doesn't keep those that try at once from the lock
	if now-s.since < stuckAfter*s.c.cfg.InstanceTimeout {
		return false
	}
	s.opts.deciders = slices.DeleteFunc(slices.Clone(s.opts.deciders), func(i int) bool { return i == decider })
	return true
}

// ending is the error of a try that ended after the round. Hooks have the round's own.
func (e *RoundError) ending(verdict, cause error, holder *Holder) *RoundError {
	over := *e
	over.Verdict, over.Cause, over.Holder = verdict, cause, holder
	return &over
}

// mayBeHeld reports whether a single client was seen, which may have a quorum together with
// instances that failed.
func (s *split) mayBeHeld() bool {
	t := outcomesOf(s.seen)
	return t.refused > 0 && t.refused+t.failed >= s.c.majority.Q && rivalsIn(s.seen).different <= 1
}

// seeHolder looks at the key that was in the way, until a client is seen to have it, or every
// instance has answered.
func (c *core) seeHolder(ctx context.Context, all keys, votes []Ballot) Inspection {
	at := all.at(inTheWay(votes))
	key := at
	if key == "" {
		key = all.key
	}
	ballots, _ := c.lookAtAll(ctx, wire.Request{Op: wire.Look, Key: key}, func(ballots []Ballot) bool {
		return rivalsIn(ballots).most >= c.majority.Q
	})
	found := inspection(key, c.majority, ballots)
	for i := range found.Holders {
		found.Holders[i].Key = at
	}
	return found
}

// takenHere is an error if this Coordinator has one of the locks. Then no instance is asked.
func (c *core) takenHere(all keys) *RoundError {
	for key := range all.each() {
		_, holder := c.queues.peek(key)
		if holder == nil {
			continue
		}
		left := holder.Validity()
		if left <= 0 {
			continue
		}
		err := c.roundError(wire.Acquire, all, ErrTaken)
		err.Holder = c.holderHere(holder, left)
		if all.several() {
			err.Holder.Key = key
		}
		return err
	}
	return nil
}

// holderHere describes a lease of this Coordinator as the holder.
func (c *core) holderHere(l *Lease, left time.Duration) *Holder {
	return &Holder{Here: true, Owner: c.cfg.Owner, Note: l.terms.Note, Remaining: left, Held: true}
}

// decisionOrder gives the instances in the order in which they decide a split.
func (c *core) decisionOrder() []int {
	prefix := prefixOf("") // one order for all keys
	order := make([]int, len(c.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(rankOf(prefix, c.members[a].name), rankOf(prefix, c.members[b].name))
	})
	return order
}
