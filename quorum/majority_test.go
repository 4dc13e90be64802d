package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// majorityTranscript has votes as they come in (g granted, r refused, f failed),
// and the verdict after each. What is lost also says why.
const majorityTranscript = `
# One instance: its vote is the verdict.
n=1 q=1 g    ---- won
n=1 q=1 r    ---- lost: taken
n=1 q=1 f    ---- lost: no quorum

# Two are worse than one: a single refusal loses the round.
n=2 q=2 g    ---- pending
n=2 q=2 gg   ---- pending won
n=2 q=2 r    ---- lost: taken
n=2 q=2 gf   ---- pending lost: no quorum

# Three survive one.
n=3 q=2 gg   ---- pending won
n=3 q=2 rgg  ---- pending pending won
n=3 q=2 fgg  ---- pending pending won
n=3 q=2 rr   ---- pending lost: taken
n=3 q=2 ff   ---- pending lost: no quorum
n=3 q=2 rf   ---- pending lost: taken
n=3 q=2 grf  ---- pending pending lost: taken

# Four: two against two is lost, not undecided.
n=4 q=3 ggrr ---- pending pending pending lost: taken
n=4 q=3 gggr ---- pending pending won won

# Five. The last votes change nothing.
n=5 q=3 ggg   ---- pending pending won
n=5 q=3 gggrr ---- pending pending won won won
n=5 q=3 rrggg ---- pending pending pending pending won
n=5 q=3 rrr   ---- pending pending lost: taken
n=5 q=3 rrrgg ---- pending pending lost: taken lost: taken lost: taken
n=5 q=3 fff   ---- pending pending lost: no quorum
n=5 q=3 ffr   ---- pending pending lost: taken
n=5 q=3 ffrf  ---- pending pending lost: taken lost: no quorum
n=5 q=3 ggffr ---- pending pending pending pending lost: taken

# A higher quorum: fewer failures are enough to lose.
n=5 q=4 gggg  ---- pending pending pending won
n=5 q=4 gfgf  ---- pending pending pending lost: no quorum
n=5 q=5 ggggr ---- pending pending pending pending lost: taken
n=5 q=5 f     ---- lost: no quorum
`

func TestMajorityTranscript(t *testing.T) {
	for line := range strings.Lines(majorityTranscript) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(line, func(t *testing.T) {
			var n, q int
			var votes string
			_, err := fmt.Sscanf(line, "n=%d q=%d %s", &n, &q, &votes)
			require.NoError(t, err)
			_, want, _ := strings.Cut(line, "---- ")
			tally := quorum.Tally{Majority: quorum.Majority{N: n, Q: q}}
			var got []string
			for _, vote := range votes {
				got = append(got, told(&tally, tally.Count(outcomes[vote])))
			}
			assert.Equal(t, want, strings.Join(got, " "))
		})
	}
}

var outcomes = map[rune]wire.Outcome{'g': wire.Granted, 'r': wire.Refused, 'f': wire.Failed}

func told(tally *quorum.Tally, v quorum.Verdict) string {
	if v != quorum.Lost {
		return v.String()
	}
	switch tally.Reason() {
	case quorum.ErrTaken:
		return "lost: taken"
	case quorum.ErrNoQuorum:
		return "lost: no quorum"
	default:
		return "lost for no reason"
	}
}

// dumbVerdict is a second implementation: it tries every way in which the votes
// that are still out can fall.
func dumbVerdict(n, q int, votes []wire.Outcome) quorum.Verdict {
	granted := 0
	for _, vote := range votes {
		if vote == wire.Granted {
			granted++
		}
	}
	canWin, canLose := false, false
	for more := 0; more <= n-len(votes); more++ { // how many of those out will grant
		if granted+more >= q {
			canWin = true
		} else {
			canLose = true
		}
	}
	switch {
	case canWin && canLose:
		return quorum.Pending
	case canWin:
		return quorum.Won
	default:
		return quorum.Lost
	}
}

// Every sequence of votes for up to six instances and every quorum: the verdict
// is told at the first moment at which it is certain, and never changes.
func TestTallyAgainstDumbImplementation(t *testing.T) {
	var walk func(n, q int, tally quorum.Tally, votes []wire.Outcome)
	walk = func(n, q int, tally quorum.Tally, votes []wire.Outcome) {
		if len(votes) == n {
			return
		}
		for _, outcome := range outcomes {
			next, seq := tally, append(votes[:len(votes):len(votes)], outcome)
			require.Equal(t, dumbVerdict(n, q, seq), next.Count(outcome), "n=%d q=%d %v", n, q, seq)
			require.Equal(t, len(seq), next.Granted+next.Refused+next.Failed)
			walk(n, q, next, seq)
		}
	}
	for n := 1; n <= 6; n++ {
		for q := n/2 + 1; q <= n; q++ {
			tally := quorum.Tally{Majority: quorum.Majority{N: n, Q: q}}
			require.Equal(t, quorum.Pending, tally.Verdict(), "no vote was counted")
			walk(n, q, tally, nil)
		}
	}
}

// Larger sets, at random; and what may be believed of the reason.
func TestTallyQuick(t *testing.T) {
	same := func(seed uint64) bool {
		random := rand.New(rand.NewPCG(seed, 1))
		n := 1 + random.IntN(25)
		q := n/2 + 1 + random.IntN(n-n/2)
		tally := quorum.Tally{Majority: quorum.Majority{N: n, Q: q}}
		var votes []wire.Outcome
		failed := 0
		for range n {
			vote := wire.Outcome(random.IntN(3))
			votes = append(votes, vote)
			if vote == wire.Failed {
				failed++
			}
			verdict := tally.Count(vote)
			if verdict != dumbVerdict(n, q, votes) {
				return false
			}
			if verdict == quorum.Lost {
				// No quorum answered only if even N-failed grants had been too few.
				return (n-failed < q) == (tally.Reason() == quorum.ErrNoQuorum)
			}
		}
		return true
	}
	require.NoError(t, quick.Check(same, &quick.Config{MaxCount: 5000}))
}

// Two quorums of the same set share an instance.
func TestMajorityOf(t *testing.T) {
	for n := 1; n <= 101; n++ {
		m := quorum.MajorityOf(n)
		assert.Greater(t, 2*m.Q, n, "two quorums of %d must share an instance", n)
		assert.LessOrEqual(t, 2*(m.Q-1), n, "a smaller quorum of %d would do", n)
		assert.Equal(t, n+1, m.Q+m.Blocking(), "either a quorum grants, or a blocking set doesn't")
	}
	assert.Equal(t, quorum.MajorityOf(4).Blocking(), quorum.MajorityOf(3).Blocking(), "a fourth instance buys nothing")
}

func TestNamesOfVerdictsAndOutcomes(t *testing.T) {
	assert.Equal(t, "pending won lost", fmt.Sprint(quorum.Pending, quorum.Won, quorum.Lost))
	assert.Equal(t, "failed granted refused", fmt.Sprint(wire.Failed, wire.Granted, wire.Refused))
	assert.Equal(t, "acquire raise extend restore release look tick probe",
		fmt.Sprint(wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Release, wire.Look, wire.Tick, wire.Probe))
	assert.Equal(t, "op(0) op(99)", fmt.Sprint(wire.Op(0), wire.Op(99)))
}
