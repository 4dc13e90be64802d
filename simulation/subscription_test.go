package simulation_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// relay runs c1, which holds the lock for ten seconds, and c2, which waits for it and polls so
// rarely that only a notification can bring it the lock soon. It returns the run, and how long
// after the release c2 had it.
func relay(t *testing.T, schedule simulation.Schedule) (r simulation.Result, after time.Duration) {
	t.Helper()
	cfg := simulation.Config{Witness: true, Quorum: quorum.Config{
		TTL: 30 * time.Second, MaxWait: time.Minute,
		Lab: quorum.Lab{
			BackoffMin: 4 * time.Second, BackoffMax: 4 * time.Second,
			RestartQuarantine: quorum.Off, ClockMonitor: quorum.Off,
		},
	}}
	r = run(t, 5, cfg, schedule, func(c *simulation.Client) {
		if c.Index == 0 {
			lease, err := c.Acquire("k")
			require.NoError(t, err)
			c.SleepUntil(10 * time.Second)
			_ = c.Release(lease) // its outcome is in the trace
			return
		}
		c.SleepUntil(time.Second)
		lease, err := c.Acquire("k")
		require.NoError(t, err)
		_ = c.Release(lease)
	})
	for _, e := range r.Log.History() {
		if e.Process == "c2" && e.Kind == record.Acquired {
			after = e.At - 10*time.Second
		}
	}
	require.NotZero(t, after, "%s", r.Log)
	return r, after
}

const atOnce = 20 * ms // a few messages

// A waiter is notified when the lock is released; if the notification is lost, it polls on its own.
func TestWaitersAreNotified(t *testing.T) {
	r, after := relay(t, nil)
	require.Empty(t, r.Log.Violations())
	require.Less(t, after, atOnce)
	require.Equal(t, 1, r.Log.Counts()["a waiter was notified"])
	require.Contains(t, r.Log.String(), "c2 subscribe ")
	at := regexp.MustCompile(`([A-E]) notifies c2 `).FindStringSubmatch(r.Log.String())[1]

	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for name, c := range map[string]struct {
		fault  fault.Fault
		called bool
		broken int
	}{
		"the call is lost":            {fault.Fault{Kind: fault.Cut, Process: "c2", Server: at, At: second(9), For: second(2), Way: fault.Replies}, false, 0},
		"the call is late":            {fault.Fault{Kind: fault.Delay, Process: "c2", Server: at, At: second(9), For: second(2), Way: fault.Replies, By: second(20)}, false, 0},
		"the server was restarted":    {fault.Fault{Kind: fault.Restart, Server: at, At: second(5), For: ms, Keep: fault.KeepAll}, true, 1},
		"it restarts at the release":  {fault.Fault{Kind: fault.Restart, Server: at, At: second(10), For: second(6), Keep: fault.KeepAll}, false, 1},
		"it hangs at the release":     {fault.Fault{Kind: fault.Hang, Server: at, At: second(10), For: second(6)}, false, 0},
		"all its data were dropped":   {fault.Fault{Kind: fault.Flush, Server: at, At: second(9)}, false, 0},
		"another server is restarted": {fault.Fault{Kind: fault.Restart, Server: map[bool]string{true: "B", false: "A"}[at == "A"], At: second(5), Keep: fault.KeepAll}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, after := relay(t, simulation.Schedule{c.fault})
			assert.Empty(t, r.Log.Violations())
			assert.Equal(t, c.broken, r.Log.Counts()["a subscription was lost"], "%s", r.Log)
			if c.called {
				assert.Less(t, after, atOnce, "%s", r.Log)
			} else {
				assert.Greater(t, after, atOnce, "%s", r.Log)
				assert.Less(t, after, 10*time.Second, "%s", r.Log)
			}
		})
	}
}
