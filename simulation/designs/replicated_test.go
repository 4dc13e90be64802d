package designs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// failover is S8: c1 gets the lock on A. Later a replica takes over, which may lack the key.
func failover(lag, over fault.Fault) (simulation.Schedule, simulation.Workload) {
	lag.Kind, lag.Server, lag.At = fault.Lag, "A", at(-50*ms)
	over.Kind, over.Server, over.For = fault.Failover, "A", 50*ms
	return simulation.Schedule{lag, over}, parts(map[string]simulation.Workload{
		"c1": hold(at(0), at(5*time.Second)),
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(2 * time.Second))
			// The first command finds that the connection is cut, the second opens another.
			for range 2 {
				if lease := take(c); lease != nil {
					c.Sleep(time.Second)
					_ = c.Release(lease)
					return
				}
			}
		},
	})
}

func TestFailover(t *testing.T) {
	two := []record.ViolationKind{record.TwoHolders}
	for _, test := range []struct {
		name      string
		lag, over fault.Fault
		verdicts  map[string][]record.ViolationKind
	}{
		{
			name: "the replica has it", lag: fault.Fault{By: ms, For: time.Second}, over: fault.Fault{At: at(time.Second)},
			verdicts: map[string][]record.ViolationKind{"replica-async": none, "wait-one": none, "wait-all": none, "wait-some": none, "wait-late": none, "semisync": none},
		},
		{
			name: "no replica has it yet", lag: fault.Fault{For: 1500 * ms}, over: fault.Fault{At: at(300 * ms)},
			verdicts: map[string][]record.ViolationKind{"replica-async": two, "wait-one": none, "wait-all": none, "wait-some": none, "wait-late": none, "semisync": none},
		},
		{
			name: "the other replica has it", lag: fault.Fault{Replica: 2, For: 10 * time.Second}, over: fault.Fault{At: at(time.Second), Replica: 2},
			verdicts: map[string][]record.ViolationKind{"replica-async": two, "wait-all": none, "wait-some": two, "semisync": two}, // the others have no second one
		},
		{
			name: "no replica has it for long", lag: fault.Fault{For: 10 * time.Second}, over: fault.Fault{At: at(800 * ms)},
			verdicts: map[string][]record.ViolationKind{"replica-async": two, "wait-one": none, "wait-all": none, "wait-some": none, "wait-late": none, "semisync": two},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			schedule, work := failover(test.lag, test.over)
			for name, want := range test.verdicts {
				r := play(t, name, simulation.Config{}, schedule, work, want...)
				assert.Positive(t, r.Log.Counts()["a server failed over"])
			}
			// Redlock has four more servers.
			r := play(t, "redlock", simulation.Config{Replicas: 2}, schedule, work, none...)
			assert.Equal(t, 1, did(r, "c1", "acquired"))
			assert.Equal(t, 0, did(r, "c2", "acquired"))
		})
	}
}

// Without a replica's acknowledgement in time the lock is not acquired, and doesn't block
// others.
func TestWaitFallsShort(t *testing.T) {
	for _, name := range []string{"wait-one", "wait-all", "wait-some", "wait-late"} {
		testWaitFallsShort(t, name)
	}
}

func testWaitFallsShort(t *testing.T, name string) {
	schedule := simulation.Schedule{{Kind: fault.Lag, Server: "A", For: 4 * time.Second}}
	r := play(t, name, simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			_, err := c.TryAcquire(key)
			assert.ErrorIs(t, err, wire.ErrNotReplicated)
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(5 * time.Second))
			lease := take(c)
			if assert.NotNil(t, lease) {
				assert.NoError(t, c.Extend(lease))
				assert.NoError(t, c.Release(lease))
			}
		},
	}), none...)
	assert.Equal(t, 1, r.Log.Counts()["a WAIT fell short"])
}

// A lease that counts from before the SET has the remaining validity when WAIT answers.
func TestWaitIsCounted(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Lag, Server: "A", For: 4 * time.Second, By: 900 * ms}}
	for name, early := range map[string]bool{"wait-one": true, "wait-all": true, "wait-some": true, "wait-late": false} {
		play(t, name, simulation.Config{}, schedule, parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				c.SleepUntil(at(0))
				lease := take(c)
				if assert.NotNil(t, lease) {
					assert.Equal(t, early, lease.Validity() < 9200*ms, "%s: %v", name, lease.Validity())
					assert.NoError(t, c.Extend(lease))
					assert.Equal(t, early, lease.Validity() < 9200*ms, "%s: %v", name, lease.Validity())
				}
			},
		}), none...)
	}
}

// A lease that has expired when WAIT answers is given up.
func TestWaitOutlastsTheLease(t *testing.T) {
	cfg := simulation.Config{}
	cfg.Quorum.TTL = 500 * ms
	schedule := simulation.Schedule{{Kind: fault.Lag, Server: "A", For: 4 * time.Second, By: 900 * ms}}
	for name, want := range map[string]error{"wait-one": quorum.ErrTooSlow, "wait-late": nil, "wait-long": nil} {
		play(t, name, cfg, schedule, parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				c.SleepUntil(at(0))
				_, err := c.TryAcquire(key)
				assert.ErrorIs(t, err, want, name)
			},
		}), none...)
	}
}
