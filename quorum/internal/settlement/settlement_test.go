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
func choose(q int, votes ...wire.Vote) (token fencing.Token, agree int) {
	return Rules{Quorum: q, Ahead: 5 * time.Microsecond}.Choose(func(yield func(*wire.Vote) bool) {
		for i := range votes {
			if !yield(&votes[i]) {
				return
			}
		}
	})
}

// at is a vote for a token at a clock, both in microseconds.
func at(token, clock int64) wire.Vote {
	return wire.Vote{Outcome: wire.Granted, Token: fencing.Token(token), Clock: time.UnixMicro(clock)}
}

// low is a vote whose counter isn't at its token.
func low(vote wire.Vote) wire.Vote {
	vote.Low = true
	return vote
}

func TestChoose(t *testing.T) {
	unknown := wire.Vote{Outcome: wire.Granted, Token: 20}
	for name, c := range map[string]struct {
		votes []wire.Vote
		token fencing.Token
		agree int
	}{
		"equal":                        {[]wire.Vote{at(20, 20), at(20, 20), {Err: errPending}}, 20, 2},
		"the largest":                  {[]wire.Vote{at(17, 20), at(20, 20), at(18, 20)}, 20, 3},
		"one alone":                    {[]wire.Vote{at(20, 1)}, 20, 1},
		"as far as the clock allows":   {[]wire.Vote{at(25, 20), at(11, 20)}, 25, 2},
		"further":                      {[]wire.Vote{at(26, 20), at(11, 20)}, 11, 1},
		"a counter far ahead":          {[]wire.Vote{at(1000, 1000), at(20, 20), at(19, 20)}, 20, 2},
		"a clock far behind":           {[]wire.Vote{at(20, 20), at(5, 10), at(19, 20)}, 20, 2},
		"a clock far behind, with all": {[]wire.Vote{at(20, 20), at(20, 10), at(19, 20)}, 20, 3},
		"two, and the higher ones":     {[]wire.Vote{at(20, 20), at(1000, 1000), at(19, 20), at(999, 1000)}, 1000, 2},
		"a clock that isn't known":     {[]wire.Vote{at(1000, 1000), unknown}, 1000, 2},
		"low, with the token":          {[]wire.Vote{low(at(20, 20)), at(20, 20), {Err: errPending}}, 20, 2},
		"low, and higher":              {[]wire.Vote{low(at(21, 20)), at(20, 20), at(19, 20)}, 21, 3},
	} {
		t.Run(name, func(t *testing.T) {
			q := len(c.votes)/2 + 1
			if len(c.votes) == 4 {
				q = 2 // so that there are two choices
			}
			token, agree := choose(q, c.votes...)
			require.Equal(t, c.token, token)
			require.Equal(t, c.agree, agree)
		})
	}
}

// The choice fulfills its contract for any votes: it finds a quorum if there is one, and the token
// suits all of its instances.
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
			votes[i] = at(min(token, clock+5), clock)
			votes[i].Low = random.IntN(4) == 0
			if random.IntN(6) == 0 {
				votes[i] = wire.Vote{Outcome: []wire.Outcome{wire.Refused, wire.Failed}[random.IntN(2)], Err: errPending}
			}
		}
		token, agree := choose(q, votes...)

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
			}
		}
		require.Equal(t, settled, agree)
	}
	require.Greater(t, found, 1000)
}

// The reason why an instance has no token refers to its clock; the reason why it doesn't count
// refers to the tokens.
func TestReasons(t *testing.T) {
	rules := Rules{Quorum: 2, Ahead: 5 * time.Microsecond}
	ahead, behind, fits := at(1000, 1000), at(5, 10), at(19, 20)
	require.ErrorContains(t, rules.Obstacle(&ahead, 20), "980µs ahead of")
	require.ErrorContains(t, rules.Obstacle(&behind, 20), "10µs behind")
	require.NoError(t, rules.Obstacle(&fits, 20))
	require.NoError(t, rules.Obstacle(&wire.Vote{Outcome: wire.Refused}, 20), "it didn't grant")

	below, above := at(20, 20), at(21, 21)
	require.NoError(t, Counts(&below, 20))
	require.ErrorContains(t, Counts(&above, 20), "the token 21, when the round had settled on 20")
}

// An instance counts without a raise only if its counters are at the token.
func TestIsBehind(t *testing.T) {
	for _, c := range []struct {
		vote   wire.Vote
		behind bool
	}{
		{at(19, 20), true}, {at(20, 20), false}, {at(21, 20), false},
		{low(at(19, 20)), true}, {low(at(20, 20)), true}, {low(at(21, 20)), true},
	} {
		require.Equal(t, c.behind, IsBehind(&c.vote, 20), "%+v", c.vote)
	}
}
