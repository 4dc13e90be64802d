package settlement

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

var errPending = errors.New("no answer yet")

// choose chooses from these votes with a quorum of q.
func choose(q int, votes ...wire.Vote) (chosen Tokens, agree int) {
	return Rules{Quorum: q, Ahead: 5 * time.Microsecond}.Choose(func(yield func(*wire.Vote) bool) {
		for i := range votes {
			if !yield(&votes[i]) {
				return
			}
		}
	})
}

// at is a vote for a token at a clock, both in microseconds, with reserved tokens.
func at(token, clock int64, reserved int) wire.Vote {
	return wire.Vote{Outcome: wire.Granted, Token: fencing.Token(token), Reserved: reserved, Clock: time.UnixMicro(clock)}
}

func TestChoose(t *testing.T) {
	unknown := wire.Vote{Outcome: wire.Granted, Token: 20}
	for name, c := range map[string]struct {
		votes        []wire.Vote
		token, first fencing.Token
		agree        int
	}{
		"equal":                        {[]wire.Vote{at(20, 20, 0), at(20, 20, 0), {Err: errPending}}, 20, 20, 2},
		"the largest":                  {[]wire.Vote{at(17, 20, 0), at(20, 20, 0), at(18, 20, 0)}, 20, 20, 3},
		"one alone":                    {[]wire.Vote{at(20, 1, 0)}, 20, 20, 1},
		"as far as the clock allows":   {[]wire.Vote{at(25, 20, 0), at(11, 20, 0)}, 25, 25, 2},
		"further":                      {[]wire.Vote{at(26, 20, 0), at(11, 20, 0)}, 11, 11, 1},
		"a counter far ahead":          {[]wire.Vote{at(1000, 1000, 0), at(20, 20, 0), at(19, 20, 0)}, 20, 20, 2},
		"a clock far behind":           {[]wire.Vote{at(20, 20, 0), at(5, 10, 0), at(19, 20, 0)}, 20, 20, 2},
		"a clock far behind, with all": {[]wire.Vote{at(20, 20, 0), at(20, 10, 0), at(19, 20, 0)}, 20, 20, 3},
		"two, and the higher ones":     {[]wire.Vote{at(20, 20, 0), at(1000, 1000, 0), at(19, 20, 0), at(999, 1000, 0)}, 1000, 1000, 2},
		"a clock that isn't known":     {[]wire.Vote{at(1000, 1000, 0), unknown}, 1000, 1000, 2},
		"reserved":                     {[]wire.Vote{at(20, 20, 4), at(20, 20, 4), at(20, 20, 4)}, 20, 16, 3},
		"fewer reserved":               {[]wire.Vote{at(20, 20, 4), at(20, 20, 2), at(20, 20, 4)}, 20, 18, 3},
		"a first token that is higher": {[]wire.Vote{at(20, 20, 4), at(19, 20, 1), at(17, 20, 9)}, 20, 18, 3},
		"none reserved below":          {[]wire.Vote{at(20, 20, 4), at(10, 20, 0), at(16, 20, 4)}, 20, 16, 3},
	} {
		t.Run(name, func(t *testing.T) {
			q := len(c.votes)/2 + 1
			if len(c.votes) == 4 {
				q = 2 // so that there are two choices
			}
			tokens, agree := choose(q, c.votes...)
			require.Equal(t, c.token, tokens.Last)
			require.Equal(t, c.agree, agree)
			require.Equal(t, c.first, tokens.First())
		})
	}
}

// The choice fulfills its contract for any votes: it finds a quorum if there is one, and the tokens
// suit all of its instances.
func TestChoiceSuitsAQuorum(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 20_000 {
		n := 1 + random.IntN(6)
		q := n/2 + 1
		votes := make([]wire.Vote, n)
		for i := range votes {
			clock := 100 + random.Int64N(12)
			token := clock + random.Int64N(12) - 6
			votes[i] = at(min(token, clock+5), clock, random.IntN(4))
			if random.IntN(6) == 0 {
				votes[i] = wire.Vote{Outcome: []wire.Outcome{wire.Refused, wire.Failed}[random.IntN(2)], Err: errPending}
			}
		}
		tokens, agree := choose(q, votes...)
		token, first := tokens.Last, tokens.First()

		// A search through each set of votes.
		most, highest := 0, fencing.Token(0)
		for set := range 1 << n {
			size, top, limit, all := 0, fencing.Token(0), int64(1<<62), true
			for i, vote := range votes {
				if set&(1<<i) != 0 {
					all = all && vote.Outcome == wire.Granted
					size, top, limit = size+1, max(top, vote.Token), min(limit, max(vote.Clock.UnixMicro()+5, int64(vote.Token)))
				}
			}
			if !all || size == 0 || int64(top) > limit {
				continue
			}
			most = max(most, size)
			if size >= q {
				highest = max(highest, top)
			}
		}
		require.Equal(t, most >= q, agree >= q, "%+v", votes)
		if agree < q {
			require.Equal(t, most, agree, "%+v", votes)
			continue
		}
		found++
		require.Equal(t, highest, token, "%+v", votes)
		settled := 0
		for _, vote := range votes {
			if vote.Outcome == wire.Granted && vote.Token <= token && int64(token) <= max(vote.Clock.UnixMicro()+5, int64(vote.Token)) {
				settled++
				require.LessOrEqual(t, vote.First(), first)
			}
		}
		require.Equal(t, settled, agree)
		require.LessOrEqual(t, first, token)
		require.LessOrEqual(t, tokens.Reserved, 3)
	}
	require.Greater(t, found, 1000)
}

// The reason why an instance has no token refers to its clock; the reason why it doesn't count
// refers to the tokens.
func TestReasons(t *testing.T) {
	rules := Rules{Quorum: 2, Ahead: 5 * time.Microsecond}
	ahead, behind, fits := at(1000, 1000, 0), at(5, 10, 0), at(19, 20, 0)
	require.ErrorContains(t, rules.Obstacle(&ahead, 20), "980µs ahead of")
	require.ErrorContains(t, rules.Obstacle(&behind, 20), "10µs behind")
	require.NoError(t, rules.Obstacle(&fits, 20))
	require.NoError(t, rules.Obstacle(&wire.Vote{Outcome: wire.Refused}, 20), "it didn't grant")

	tokens := Tokens{Last: 20, Reserved: 4}
	below, above, fewer := at(20, 20, 4), at(21, 21, 9), at(20, 20, 3)
	require.NoError(t, tokens.Counts(&below))
	require.ErrorContains(t, tokens.Counts(&above), "the tokens 12 to 21, when the round had settled on 16 to 20")
	require.ErrorContains(t, tokens.Counts(&fewer), "the tokens 17 to 20")
}
