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
	"github.com/redquorum/redlock/simulation/record"
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

// odd is a Locker that breaks its contract.
type odd struct {
	simulation.Locker
	lease simulation.Lease
}

func (odd) Close(context.Context) error { return nil }

func (o odd) TryAcquire(context.Context, string) (simulation.Lease, error) { return o.lease, nil }

type uncomparable struct {
	simulation.Lease
	_ []int
}

func TestLockersThatBreakTheContractAreFound(t *testing.T) {
	for want, lease := range map[string]simulation.Lease{
		"neither a lease nor an error": nil,
		"can't be compared":            uncomparable{},
	} {
		cfg := onOneServer()
		cfg.Locker = func(simulation.Process) (simulation.Locker, error) { return odd{lease: lease}, nil }
		r := run(t, 1, cfg, nil, func(c *simulation.Client) { take(c) })
		require.Equal(t, []record.ViolationKind{record.Panicked}, r.Kinds())
		assert.Contains(t, r.Log.Violations()[0].Text, want)
	}
	// The same for a workload that uses a foreign lease.
	r := run(t, 1, simulation.Config{Processes: 1}, nil, func(c *simulation.Client) {
		lease, err := c.Coordinator.TryAcquire(c.Context(), key)
		require.NoError(t, err)
		_ = c.Write(lease, 1, 0)
	})
	require.Equal(t, []record.ViolationKind{record.Panicked}, r.Kinds())
	assert.Contains(t, r.Log.Violations()[0].Text, "no check knows it")
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
