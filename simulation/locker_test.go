package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
)

// onOneServer is the Config of a lock that isn't the library's.
func onOneServer() simulation.Config {
	d, err := designs.ByName("setpx-cad")
	if err != nil {
		panic(err)
	}
	return d.Configure(simulation.Config{Servers: 1})
}

// A design that retries forever, and ignores its context, doesn't hang the run when its process
// crashes.
func TestLoopsOfACrashedProcessEnd(t *testing.T) {
	cfg := onOneServer()
	cfg.Processes = 1
	r := run(t, 1, cfg, simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "read", Nth: 1}}, func(c *simulation.Client) {
		lease, err := c.TryAcquire(key)
		if err != nil {
			return
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for lease.Release(context.Background()) != nil || c.Incarnation == 0 {
				c.Clock().Sleep(time.Second)
			}
		}()
		_, _, _ = c.Read(lease) // it crashes here
		<-ended
	})
	assert.Equal(t, 1, r.Log.Counts()["a process crashed"])
	assert.Empty(t, r.Log.Violations())
}

// Locks of another kind can't be handed off, and say so.
func TestLeasesThatStay(t *testing.T) {
	cfg := onOneServer()
	cfg.Processes = 1
	r := run(t, 1, cfg, nil, func(c *simulation.Client) {
		lease, err := c.TryAcquire("k")
		require.NoError(t, err)
		_, err = c.HandOff(lease)
		require.ErrorContains(t, err, "can't be handed off")
		_, err = c.Resume(quorum.Handle{})
		require.ErrorContains(t, err, "can't be handed off")
	})
	require.Empty(t, r.Log.Violations())
}
