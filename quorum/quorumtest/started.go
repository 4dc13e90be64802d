package quorumtest

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
)

// Started gives what Start of an Instance that has none would give: it asks by Do,
// on a goroutine of its own, with a time-out by clk (nil: the real clock, or the
// virtual one of a testing/synctest bubble). It is what a test server that is to be
// a quorum.Starter can be made with.
func Started(inst quorum.Instance, clk clock.Clock, cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
	if clk == nil {
		clk = clock.New()
	}
	ctx, cancel := clk.WithTimeout(context.Background(), timeout)
	go func() {
		defer cancel()
		to.Receive(inst.Do(ctx, cmd))
	}()
}

// checkStarted runs all parts again with commands that are started, and those that
// are about starting, if the instance is a quorum.Starter.
func (c *check) checkStarted(t *testing.T, open func(t *testing.T) quorum.Instance) {
	for _, p := range append(parts[:len(parts):len(parts)], startParts...) {
		t.Run(p.name, func(t *testing.T) {
			body := func(t *testing.T) {
				inst := open(t)
				starter, ok := inst.(quorum.Starter)
				if !ok {
					t.Skip("the instance is no Starter")
				}
				bound := c.on(t, inst)
				bound.starter = starter
				p.run(bound)
			}
			if c.virtual {
				synctest.Test(t, body)
			} else {
				body(t)
			}
		})
	}
}

// votes takes votes, with room for one too many.
type votes chan quorum.Vote

func (v votes) Receive(vote quorum.Vote) { v <- vote }

// start sends a command by Start and waits for its vote.
func (c *check) start(cmd quorum.Command) quorum.Vote {
	v := make(votes, 2)
	c.starter.Start(cmd, patience, v)
	return <-v
}

// startParts is what starting adds to the contract.
var startParts = []part{
	{"start: one vote for each", checkStartOnce},
	{"start: a time-out", checkStartTimeout},
	{"start: many at once", checkStartMany},
	{"start: from a receiver", checkStartAgain},
}

func checkStartOnce(c *check) {
	all := make(map[string]votes)
	for i := range 20 {
		name := fmt.Sprint("k", i%5) // some are refused
		v := make(votes, 2)
		all[fmt.Sprint(i)] = v
		c.starter.Start(c.acquire(name, fmt.Sprint("v", i)), patience, v)
		require.NotEqual(c.t, quorum.Failed, (<-v).Outcome)
	}
	c.granted(quorum.Command{Op: quorum.Tick})
	for i, v := range all {
		require.Empty(c.t, v, "command %s was given a second vote", i)
	}
}

// checkStartTimeout gives commands less time than any server needs. What is
// answered all the same is answered; what isn't says so.
func checkStartTimeout(c *check) {
	for i := range 20 {
		name, v := fmt.Sprint("k", i), make(votes, 2)
		cmd := c.acquire(name, "v")
		c.starter.Start(cmd, 1, v)
		vote := <-v
		require.NoError(c.t, wellFormed(cmd, vote))
		if vote.Outcome == quorum.Failed {
			require.ErrorIs(c.t, vote.Err, context.DeadlineExceeded)
		}
		if vote.Outcome != quorum.Granted {
			// One that was sent may arrive until here, and one that wasn't never does.
			held := c.do(c.look(name)).Outcome == quorum.Refused
			require.False(c.t, vote.Unsent && held, "%v was carried out, though it says that it was never sent", cmd.Op)
		}
		require.Empty(c.t, v, "a second vote")
	}
}

func checkStartMany(c *check) {
	const n = 300
	v := make(votes, n+1)
	for i := range n {
		c.starter.Start(c.acquire(fmt.Sprint("k", i), "v"), patience, v)
	}
	for range n {
		vote := <-v
		require.Equal(c.t, quorum.Granted, vote.Outcome, "%v", vote.Err)
	}
	for i := range n {
		c.starter.Start(c.release(fmt.Sprint("k", i), "v"), patience, v)
	}
	for range n {
		vote := <-v
		require.Equal(c.t, quorum.Granted, vote.Outcome, "%v", vote.Err)
	}
	require.Empty(c.t, v)
}

// relay starts the next command from within the vote on the last one.
type relay struct {
	c    *check
	left []quorum.Command
	done votes
}

func (r *relay) Receive(vote quorum.Vote) {
	if vote.Outcome != quorum.Granted || len(r.left) == 0 {
		r.done <- vote
		return
	}
	next := r.left[0]
	r.left = r.left[1:]
	r.c.starter.Start(next, patience, r)
}

func checkStartAgain(c *check) {
	r := &relay{c: c, done: make(votes, 2)}
	for range 10 {
		r.left = append(r.left, c.acquire("a", "v"), c.extend("a", "v", long), c.release("a", "v"))
	}
	c.starter.Start(quorum.Command{Op: quorum.Tick}, patience, r)
	vote := <-r.done
	require.Equal(c.t, quorum.Granted, vote.Outcome, "%v", vote.Err)
	require.Empty(c.t, r.left)
}
