package contract

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// The parts in this file send many requests at once. The model doesn't see them.

// votes receives votes, with a buffer for one too many. Further votes are dropped.
type votes chan wire.Vote

func (v votes) Receive(vote wire.Vote) {
	select {
	case v <- vote:
	default:
	}
}

// send may be called from any goroutine: it checks nothing.
func (c *check) send(cmd wire.Request) wire.Vote {
	v := make(votes, 2)
	c.inst.Send(cmd, patience, v)
	return <-v
}

// together sends requests from goroutines that start at once, and returns their votes.
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

// checkCycles: clients take one lock in turn, in any order. The holder raises a low counter, and notes its
// token before the release. So the list is in the order of acquisition.
func checkCycles(c *check) {
	const clients, turns = 8, 10
	var (
		mu     sync.Mutex
		tokens []fencing.Token
	)
	until := c.clock.Now().Add(patience)
	votes := c.together(clients, func(i int) (vote wire.Vote) {
		for turn := range turns {
			value := fmt.Sprint("v", i, ".", turn)
			vote = c.send(c.acquire("a", value))
			for vote.Outcome == wire.Refused && c.clock.Now().Before(until) {
				c.clock.Sleep(time.Duration(1+i%3) * 300 * time.Microsecond)
				vote = c.send(c.acquire("a", value))
			}
			if vote.Outcome != wire.Granted {
				return vote
			}
			if vote.Low {
				if raised := c.send(c.raise("a", value, vote.Token)); raised.Outcome != wire.Granted {
					return raised
				}
			}
			mu.Lock()
			tokens = append(tokens, vote.Token)
			mu.Unlock()
			if vote = c.send(c.release("a", value)); vote.Outcome != wire.Granted {
				return vote
			}
		}
		return vote
	})
	for i, vote := range votes {
		require.Equal(c.t, wire.Granted, vote.Outcome, "client %d never got the lock, or lost it while it held it: %v", i, vote.Err)
	}
	require.Len(c.t, tokens, clients*turns)
	require.IsIncreasing(c.t, tokens)
}

// checkSendMany sends many requests for overlapping keys at once. No two get a key in common, and each request is
// given one vote, and its own.
func checkSendMany(c *check) {
	const rounds = 30
	for _, acquire := range []func(name, value string) wire.Request{c.acquire, c.bare} {
		sets := [][]string{{"a"}, {"a", "b"}, {"b", "c"}, {"a"}, {"a", "b", "c"}, {"d"}, {"c", "d"}, {"a"}}
		var asked []votes
		value := func(i int) string { return fmt.Sprint("v", i) }
		for i := range rounds * len(sets) {
			asked = append(asked, make(votes, 2))
			c.inst.Send(c.of(acquire("", value(i)), sets[i%len(sets)]...), patience, asked[i])
		}
		holders := map[string]string{}
		for i, v := range asked {
			vote := <-v
			require.NotEqual(c.t, wire.Failed, vote.Outcome, "%v", vote.Err)
			for _, name := range sets[i%len(sets)] {
				if vote.Outcome == wire.Granted {
					require.NotContains(c.t, holders, name, "granted twice")
					holders[name] = value(i)
				}
			}
		}
		require.NotEmpty(c.t, holders)
		for name, value := range holders {
			require.Equal(c.t, value, c.send(c.look(name)).Holder)
			require.Equal(c.t, wire.Granted, c.send(c.of(c.release("", value), name)).Outcome)
		}
		for _, v := range asked {
			require.Empty(c.t, v, "a second vote")
		}
	}
}

// checkSendTimeout sends requests with less time than any server needs. Each has a reply or
// says that it has none.
func checkSendTimeout(c *check) {
	for i := range 20 {
		name, v := fmt.Sprint("k", i), make(votes, 2)
		c.inst.Send(c.acquire(name, "v"), 1, v)
		vote := <-v
		if vote.Outcome == wire.Failed {
			require.ErrorIs(c.t, vote.Err, context.DeadlineExceeded)
			// It may arrive, or have arrived. If it was never sent it never arrives.
			held := c.send(c.look(name)).Outcome == wire.Refused
			require.False(c.t, vote.Unsent && held, "it was carried out, though it says that it was never sent")
		}
		require.Empty(c.t, v, "a second vote")
	}
}

// relay sends the next request when it receives the vote on the last one.
type relay struct {
	c    *check
	left []wire.Request
	done votes
}

func (r *relay) Receive(vote wire.Vote) {
	if vote.Outcome != wire.Granted || len(r.left) == 0 {
		r.done.Receive(vote)
		return
	}
	next := r.left[0]
	r.left = r.left[1:]
	r.c.inst.Send(next, patience, r)
}

func checkSendAgain(c *check) {
	r := &relay{c: c, done: make(votes, 2)}
	for range 10 {
		r.left = append(r.left, c.acquire("a", "v"), c.extend("a", "v", long), c.release("a", "v"))
	}
	r.Receive(wire.Vote{Outcome: wire.Granted})
	vote := <-r.done
	require.Equal(c.t, wire.Granted, vote.Outcome, "%v", vote.Err)
	require.Empty(c.t, r.left)
}
