package quorum

import (
	"context"

	"github.com/redquorum/redlock/drift"
)

// succession passes the lock from a lease that is given back to the next in this
// process's line, without setting it free in between: on each instance the next
// one's round replaces the old value by its own in one step. So a hand-over takes
// one round trip and one command an instance, where a release and an acquisition
// take two.
//
// It is as safe as those two. The old lease is over before the round is sent; an
// instance that has somebody else's key refuses; and the counter is raised with
// the new value, after the old one is gone, which is what the order of the tokens
// rests on. Where the round doesn't tell what became of the old value, that is
// released by itself.
//
// Where the next one can go on under the old value not even that is needed: see cohort.go.
type succession struct {
	lease *Lease
	from  *hold
	ends  *returns   // what becomes of the old value, if it is replaced
	taken chan taken // what is done with the lease
}

// taken is what the next one in line does with a lease that is given back.
type taken uint8

const (
	declined  taken = iota // nothing: it must be released
	followed               // it sends a round that replaces the value
	inherited              // it goes on under the value
)

func newSuccession(from *Lease) *succession {
	return &succession{lease: from, from: from.hold, taken: make(chan taken, 1)}
}

// take has the round follow the old lease, and from there on owe its release.
func (s *succession) take(r *round) {
	r.former = s
	r.cmd.Replace = s.from.value
	s.ends = newReturns(s.from)
	r.hold.follow(s.from)
	s.taken <- followed
}

// decline leaves the release to who gave the lease back. After take it does nothing.
func (s *succession) decline() {
	select {
	case s.taken <- declined:
	default: // it was taken
	}
}

// settle takes in what a vote of the round says about the old value on instance i.
func (s *succession) settle(ctx context.Context, i int, vote Vote) {
	h := s.from
	old := Vote{Outcome: Refused, Epoch: vote.Epoch}
	switch {
	case vote.Replaced:
		old.Outcome = Granted
	case vote.Outcome == Granted, vote.Outcome == Refused && vote.Err == nil:
		// The key was free or somebody else's.
	default:
		// Unknown, or refused before the key was looked at.
		replaced := vote.Outcome == Failed && !vote.Unsent // perhaps
		new(deletion).queue(ctx, h, i, false, drift.Instant{}, func(i int, b Ballot) {
			if replaced && b.Vote.Outcome == Refused {
				// It may have been there until it was replaced: its holder must not
				// be told that it had lost it.
				b.Vote = Vote{Err: vote.Err, Epoch: b.Vote.Epoch}
			}
			s.ends.count(i, b)
		})
		return
	}
	m := h.c.members[i]
	if after := h.note(i, Release, old); !after.absent() {
		m.owed.owe(h.key, h.value, after)
	}
	s.ends.count(i, Ballot{Instance: m.name, Vote: old})
}
