package quorum

import "context"

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
type succession struct {
	from    *hold
	answers chan answer // what became of the old value, from each instance
	taken   chan bool   // whether the round is sent, or the old lease must be released
}

func newSuccession(from *hold) *succession {
	return &succession{from: from, answers: make(chan answer, len(from.c.members)), taken: make(chan bool, 1)}
}

// take has the round follow the old lease, and from there on owe its release.
func (s *succession) take(r *round) {
	r.former = s
	r.cmd.Replace = s.from.value
	r.hold.follow(s.from)
	s.taken <- true
}

// decline leaves the release to who gave the lease back.
func (s *succession) decline() { s.taken <- false }

// settle takes in what a vote of the round says about the old value.
func (s *succession) settle(ctx context.Context, i int, m *member, vote Vote) {
	s.answers <- answer{i, s.from.replaced(ctx, i, m, vote)}
}

// replaced gives the ballot on the release of a value that a round was to replace.
func (h *hold) replaced(ctx context.Context, i int, m *member, vote Vote) Ballot {
	release := Vote{Outcome: Refused, Epoch: vote.Epoch}
	switch {
	case vote.Replaced:
		release.Outcome = Granted
	case vote.Outcome == Granted, vote.Outcome == Refused && vote.Err == nil:
		// The key was free or somebody else's.
	default:
		// Unknown, or refused before the key was looked at.
		return h.releaseOne(ctx, i, m)
	}
	h.released(i, m, release)
	return Ballot{Instance: m.name, Vote: release}
}
