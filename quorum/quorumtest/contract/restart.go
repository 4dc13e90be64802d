package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func checkRestart(c *check) {
	raw, ok := c.inst.(Restarter)
	if !ok {
		c.t.Skip("the instance is no Restarter")
		return
	}
	c.granted(c.acquire("a", "v"))
	before := c.probe()
	restarted := c.clock.Now()
	raw.Restart(false)
	vote := c.answered(c.look("a"))
	require.Equal(c.t, wire.Granted, vote.Outcome, "the server has kept the key")
	after := c.probe()
	if before.RunID != "" {
		require.NotEqual(c.t, before.RunID, after.RunID)
	}
	if before.Run() != "" {
		require.NotEqual(c.t, before.Run(), after.Run())
		old := c.acquire("a", "w")
		old.Run = before.Run()
		require.ErrorIs(c.t, c.send(old).Err, wire.ErrOtherRun, "the new run takes a command for the old one")
	}
	if after.Uptime >= 0 {
		require.Less(c.t, after.Uptime, time.Minute)
	}
	if after.Served >= 0 {
		require.LessOrEqual(c.t, after.Served, c.clock.Since(restarted)+grain, "the mark is of the old run")
	}
	require.False(c.t, after.Vouched, "a server that has lost its data is vouched for")
}

// answered sends a request until it is answered, because connections to the old run fail
// first.
func (c *check) answered(cmd wire.Request) wire.Vote {
	c.t.Helper()
	for until := c.clock.Now().Add(patience); ; {
		vote := c.send(cmd)
		require.NoError(c.t, wellFormed(cmd, vote))
		if vote.Outcome != wire.Failed {
			return vote
		}
		require.True(c.t, c.clock.Now().Before(until), "no answer: %v", vote.Err)
		c.clock.Sleep(time.Millisecond)
	}
}
