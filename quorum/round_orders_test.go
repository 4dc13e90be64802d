package quorum

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/internal/settlement"
	"github.com/redquorum/redlock/quorum/wire"
)

// roundPlay is a round on three servers in which each answer may be any, in any order. It records on its own what each
// server has said.
type roundPlay struct {
	*round
	open  []order          // sent, and not answered
	voted [3]wire.Vote     // zero if it has not
	has   [3]fencing.Token // what its counters have come to, if its key is known to be there
	asked map[order]bool
}

const aheadInTest = time.Millisecond // 1000 tokens

var errInTest = errors.New("it failed")

// answers are the answers that a server may give.
func (p *roundPlay) answers(op wire.Op) []wire.Vote {
	failed, refused, granted := wire.Vote{Err: errInTest}, wire.Vote{Outcome: wire.Refused}, wire.Vote{Outcome: wire.Granted}
	if op == wire.Raise {
		return []wire.Vote{failed, refused, granted}
	}
	votes := []wire.Vote{failed, refused}
	for _, token := range []fencing.Token{100, 101, 5000} { // the last is too far ahead of the clocks of the first two
		for _, low := range []bool{false, true} {
			vote := wire.Vote{Outcome: wire.Granted, Token: token, Low: low, Clock: time.UnixMicro(100)}
			if token == 5000 {
				vote.Clock = time.UnixMicro(4500)
			}
			if p.resumes {
				vote.Replaced = !low
				vote.Low = false
			}
			votes = append(votes, vote)
		}
	}
	return votes
}

func (p *roundPlay) clone() *roundPlay {
	c, r := *p, *p.round
	r.votes, r.raises = slices.Clone(r.votes), slices.Clone(r.raises)
	c.round, c.open, c.asked = &r, slices.Clone(p.open), map[order]bool{}
	for o := range p.asked {
		c.asked[o] = true
	}
	return &c
}

// send takes in what the round orders.
func (p *roundPlay) send(t *testing.T, orders []order) {
	for _, o := range orders {
		require.False(t, p.asked[o], "server %d is asked twice for a %v", o.i, o.op)
		if o.op == wire.Raise {
			require.Equal(t, wire.Granted, p.voted[o.i].Outcome, "a raise where nothing was granted")
		}
		p.asked[o], p.open = true, append(p.open, o)
	}
}

// play plays all that may come next, and returns how many ends that has.
func (p *roundPlay) play(t *testing.T) (ends int) {
	p.check(t)
	if p.decided() {
		return 1
	}
	require.NotEmpty(t, p.open, "it waits for nothing")
	for n, o := range p.open {
		for _, vote := range p.answers(o.op) {
			next := p.clone()
			next.open = slices.Delete(next.open, n, n+1)
			if o.op == wire.Acquire {
				if next.voted[o.i] = vote; vote.Outcome == wire.Granted && !vote.Low && (!p.resumes || vote.Replaced) {
					next.has[o.i] = vote.Token
				}
			} else if vote.Outcome == wire.Granted {
				next.has[o.i] = max(next.has[o.i], p.token)
			} else {
				next.has[o.i] = 0 // the key may be gone
			}
			orders := next.step(o.i, o.op, &Ballot{Vote: vote})
			next.send(t, orders)
			ends += next.play(t)
		}
	}
	return ends
}

// check checks the round against what the servers have said.
func (p *roundPlay) check(t *testing.T) {
	granted, failed, missing, settled := 0, 0, 0, 0
	for i, vote := range p.voted {
		counts := vote.Outcome == wire.Granted && (!p.resumes || vote.Replaced)
		switch {
		case vote == wire.Vote{}:
			missing++
		case counts:
			granted++
		case vote.Outcome == wire.Failed:
			failed++
		}
		if counts && p.has[i] >= p.token && vote.Token <= p.token {
			settled++
		}
	}
	switch {
	case p.stage == won:
		//the claim of package settlement
		require.GreaterOrEqual(t, settled, 2, "won without a settled quorum: %v, token %d", p.voted, p.token)
		require.NotZero(t, p.token)
	case p.stage == lost && p.why == ErrUnsettled:
		require.GreaterOrEqual(t, granted, 2, "too few grants are no race")
	case p.stage == lost && p.decider >= 0 && p.voted[p.decider].Outcome != wire.Granted:
		require.Len(t, p.asked, 1, "the others aren't asked")
		want := ErrTaken
		if p.voted[p.decider].Outcome == wire.Failed {
			want = ErrNoQuorum
		}
		require.Equal(t, want, p.why)
	case p.stage == lost:
		require.Less(t, granted+missing, 2, "lost although a quorum could still grant: %v", p.voted)
		want := ErrTaken
		if refused := 3 - granted - failed - missing; p.resumes && refused >= 2 {
			want = ErrLost
		} else if p.resumes || failed >= 2 {
			want = ErrNoQuorum
		}
		require.Equal(t, want, p.why, "%v", p.voted)
	case p.stage == voting:
		require.GreaterOrEqual(t, granted+missing, 2, "it should be lost: %v", p.voted)
	case p.stage == raising:
		require.Less(t, settled, 2, "it should be won: %v", p.voted)
		require.GreaterOrEqual(t, granted, 2)
	}
}

// Whatever three servers answer, in whatever order, a round is won only with a token that a quorum has, at the first
// moment at which that is certain, and lost only if it can't be won.
func TestRoundsInEveryOrder(t *testing.T) {
	for name, test := range map[string]struct {
		decider int
		resumes bool
	}{"all at once": {-1, false}, "one first": {1, false}, "resumed": {-1, true}} {
		t.Run(name, func(t *testing.T) {
			none := &Ballot{Vote: wire.Vote{Err: ErrPending}}
			votes := ballots{none, none, none}
			r, orders := newRound(settlement.Rules{Quorum: 2, Ahead: aheadInTest}, votes, test.decider, test.resumes)
			p := &roundPlay{round: r, asked: map[order]bool{}}
			p.send(t, orders)
			if test.decider >= 0 {
				require.Equal(t, []order{{test.decider, wire.Acquire}}, orders)
			}
			ends := p.play(t)
			t.Logf("%d ends", ends)
			require.Greater(t, ends, 500)
		})
	}
}
