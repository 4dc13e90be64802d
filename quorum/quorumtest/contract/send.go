package contract

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// votes receives votes, with a buffer for one too many. Further votes are dropped.
type votes chan wire.Vote

func (v votes) Receive(vote wire.Vote) {
	select {
	case v <- vote:
	default:
	}
}

func checkSendOnce(c *check) {
	all := make(map[string]votes)
	for i := range 20 {
		name := fmt.Sprint("k", i%5) // some are refused
		v := make(votes, 2)
		all[fmt.Sprint(i)] = v
		c.inst.Send(c.acquire(name, fmt.Sprint("v", i)), patience, v)
		require.NotEqual(c.t, wire.Failed, (<-v).Outcome)
	}
	c.granted(wire.Request{Op: wire.Tick})
	for i, v := range all {
		require.Empty(c.t, v, "request %s was given a second vote", i)
	}
}

// checkSendTimeout sends requests with less time than any server needs. Each has a reply or
// says that it has none.
func checkSendTimeout(c *check) {
	for i := range 20 {
		name, v := fmt.Sprint("k", i), make(votes, 2)
		cmd := c.acquire(name, "v")
		c.inst.Send(cmd, 1, v)
		vote := <-v
		require.NoError(c.t, wellFormed(cmd, vote))
		if vote.Outcome == wire.Failed {
			require.ErrorIs(c.t, vote.Err, context.DeadlineExceeded)
		}
		if vote.Outcome != wire.Granted {
			// A request that was sent may have arrived by now. One that wasn't never arrives.
			held := c.do(c.look(name)).Outcome == wire.Refused
			require.False(c.t, vote.Unsent && held, "%v was carried out, though it says that it was never sent", cmd.Op)
		}
		require.Empty(c.t, v, "a second vote")
	}
}

func checkSendMany(c *check) {
	const n = 300
	v := make(votes, n+1)
	for i := range n {
		c.inst.Send(c.acquire(fmt.Sprint("k", i), "v"), patience, v)
	}
	for range n {
		vote := <-v
		require.Equal(c.t, wire.Granted, vote.Outcome, "%v", vote.Err)
	}
	for i := range n {
		c.inst.Send(c.release(fmt.Sprint("k", i), "v"), patience, v)
	}
	for range n {
		vote := <-v
		require.Equal(c.t, wire.Granted, vote.Outcome, "%v", vote.Err)
	}
	require.Empty(c.t, v)
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
	c.inst.Send(wire.Request{Op: wire.Tick}, patience, r)
	vote := <-r.done
	require.Equal(c.t, wire.Granted, vote.Outcome, "%v", vote.Err)
	require.Empty(c.t, r.left)
}
