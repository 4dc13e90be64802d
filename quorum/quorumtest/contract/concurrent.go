package contract

import (
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// checkRace: many clients request one key at the same moment.
func checkRace(c *check) {
	const clients = 50
	for _, fence := range []bool{true, false} {
		name := fmt.Sprint("fence ", fence)
		votes := c.together(clients, func(i int) wire.Vote {
			cmd := c.bare(name, fmt.Sprint("v", i))
			if fence {
				cmd = c.acquire(name, fmt.Sprint("v", i))
			}
			return c.send(cmd)
		})
		winner := -1
		for i, vote := range votes {
			switch vote.Outcome {
			case wire.Granted:
				require.Negative(c.t, winner, "%s: both %d and %d were granted", name, winner, i)
				winner = i
			case wire.Failed:
				require.NoError(c.t, vote.Err)
			}
		}
		require.GreaterOrEqual(c.t, winner, 0, "%s: nobody was granted", name)
		vote := c.refused(c.look(name))
		require.Equal(c.t, fmt.Sprint("v", winner), vote.Holder)
		require.Equal(c.t, votes[winner].Token, vote.Token)
	}
}

// together runs f in n goroutines that start at once, and returns their votes.
func (c *check) together(n int, f func(i int) wire.Vote) []wire.Vote {
	var (
		votes = make([]wire.Vote, n)
		start = make(chan struct{})
		wg    sync.WaitGroup
	)
	for i := range n {
		wg.Go(func() {
			<-start
			votes[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return votes
}

// checkCycles: clients take one lock in turn, in any order. The holder notes its token before
// the release, so the list is in the order of acquisition.
func checkCycles(c *check) {
	const clients, turns = 8, 10
	var (
		mu     sync.Mutex
		tokens []fencing.Token
	)
	until := c.clock.Now().Add(patience)
	votes := c.together(clients, func(i int) wire.Vote {
		for turn := range turns {
			value := fmt.Sprint("v", i, ".", turn)
			vote := c.send(c.acquire("a", value))
			for vote.Outcome == wire.Refused && c.clock.Now().Before(until) {
				c.clock.Sleep(time.Duration(1+i%3) * 300 * time.Microsecond)
				vote = c.send(c.acquire("a", value))
			}
			if vote.Outcome != wire.Granted {
				return vote
			}
			mu.Lock()
			tokens = append(tokens, vote.Token)
			mu.Unlock()
			if vote = c.send(c.release("a", value)); vote.Outcome != wire.Granted {
				return vote
			}
		}
		return wire.Vote{Outcome: wire.Granted}
	})
	for i, vote := range votes {
		require.Equal(c.t, wire.Granted, vote.Outcome, "client %d never got the lock, or lost it while it held it: %v", i, vote.Err)
	}
	require.Len(c.t, tokens, clients*turns)
	for i := 1; i < len(tokens); i++ {
		require.Less(c.t, tokens[i-1], tokens[i], "the tokens at %d and %d of %v", i-1, i, tokens)
	}
}

// checkManyKeys: each reply must reach the caller of its request.
func checkManyKeys(c *check) {
	votes := c.together(30, func(i int) wire.Vote {
		name, value := fmt.Sprint("k", i), fmt.Sprint("v", i)
		var vote wire.Vote
		for range 3 {
			acquired := c.send(c.acquire(name, value))
			if acquired.Outcome != wire.Granted {
				return acquired
			}
			vote = c.send(c.look(name))
			if vote.Holder != value || vote.Token != acquired.Token {
				return vote
			}
			if vote = c.send(c.release(name, value)); vote.Outcome != wire.Granted {
				return vote
			}
		}
		return vote
	})
	for i, vote := range votes {
		require.Equal(c.t, wire.Granted, vote.Outcome, "client %d, who is alone on its key, was answered %+v", i, vote)
	}
}
