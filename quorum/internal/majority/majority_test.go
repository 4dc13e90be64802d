package majority_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/majority"
	"github.com/redquorum/redlock/quorum/wire"
)

// majorityTranscript has votes in order (g granted, r refused, f failed), and the verdict after
// each. A lost round also has its reason.
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
			tally := majority.Tally{Majority: majority.Majority{N: n, Q: q}}
			var got []string
			for _, vote := range votes {
				got = append(got, describe(&tally, tally.Count(outcomes[vote])))
			}
			assert.Equal(t, want, strings.Join(got, " "))
		})
	}
}

var outcomes = map[rune]wire.Outcome{'g': wire.Granted, 'r': wire.Refused, 'f': wire.Failed}

func describe(tally *majority.Tally, v majority.Verdict) string {
	if v != majority.Lost {
		return v.String()
	}
	if tally.FailuresDecide() {
		return "lost: no quorum"
	}
	return "lost: taken"
}

// dumbVerdict is a second implementation. It tries all possible missing votes.
func dumbVerdict(n, q int, votes []wire.Outcome) majority.Verdict {
	granted := 0
	for _, vote := range votes {
		if vote == wire.Granted {
			granted++
		}
	}
	canWin, canLose := false, false
	for more := 0; more <= n-len(votes); more++ { // how many of the missing votes are grants
		if granted+more >= q {
			canWin = true
		} else {
			canLose = true
		}
	}
	switch {
	case canWin && canLose:
		return majority.Pending
	case canWin:
		return majority.Won
	default:
		return majority.Lost
	}
}

// Every sequence of votes for up to six instances and every quorum: the verdict
// is given as soon as it is certain, and never changes.
func TestTallyAgainstDumbImplementation(t *testing.T) {
	var walk func(n, q int, tally majority.Tally, votes []wire.Outcome)
	walk = func(n, q int, tally majority.Tally, votes []wire.Outcome) {
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
			tally := majority.Tally{Majority: majority.Majority{N: n, Q: q}}
			require.Equal(t, majority.Pending, tally.Verdict(), "no vote was counted")
			walk(n, q, tally, nil)
		}
	}
}

// Two quorums of the same set share an instance.
func TestMajorityOf(t *testing.T) {
	for n := 1; n <= 101; n++ {
		m := majority.Of(n)
		assert.Greater(t, 2*m.Q, n, "two quorums of %d must share an instance", n)
		assert.LessOrEqual(t, 2*(m.Q-1), n, "a smaller quorum of %d would do", n)
		assert.Equal(t, n+1, m.Q+m.Blocking(), "either a quorum grants, or a blocking set doesn't")
	}
	assert.Equal(t, majority.Of(4).Blocking(), majority.Of(3).Blocking(), "a fourth instance does not help")
}

func TestNamesOfVerdictsAndOutcomes(t *testing.T) {
	assert.Equal(t, "pending won lost", fmt.Sprint(majority.Pending, majority.Won, majority.Lost))
	assert.Equal(t, "failed granted refused", fmt.Sprint(wire.Failed, wire.Granted, wire.Refused))
	assert.Equal(t, "acquire raise extend restore release look tick probe",
		fmt.Sprint(wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Release, wire.Look, wire.Tick, wire.Probe))
	assert.Equal(t, "op(0) op(99)", fmt.Sprint(wire.Op(0), wire.Op(99)))
}

// A quorum of keys lasts as long as the first of them that expires. Fewer keys are no lease, and
// block others until the last of them expires.
func TestLasts(t *testing.T) {
	const forever = wire.NoExpiry
	for _, c := range []struct {
		times []time.Duration
		want  time.Duration
	}{
		{[]time.Duration{3, 9, 5, 7, 1}, 5},
		{[]time.Duration{9, 5, 7}, 5},
		{[]time.Duration{2, 8}, 8},
		{[]time.Duration{forever, 4, forever, 2, forever}, forever},
		{[]time.Duration{forever, 4, forever, 2}, 4},
		{[]time.Duration{4, forever}, forever},
	} {
		require.Equal(t, c.want, majority.Of(5).Lasts(slices.Clone(c.times)), "%v", c.times)
	}
}
