package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// A server that carries out a request twice can set the key again for a round that lost it. Then a raise
// counts, and two leases have the same token. Neither TCP connections nor the library repeat a request,
// but a proxy might.
func TestRequestThatIsCarriedOutTwice(t *testing.T) {
	const ms = time.Millisecond
	cfg := simulation.Config{Servers: 3, LatencyMin: ms, LatencyMax: ms}
	cfg.Quorum.Lab.Notifications = quorum.Off
	at := func(d time.Duration) time.Duration { return 3*time.Second + d }
	schedule := simulation.Schedule{
		// A round of c2 that only B grants, so that its counter is ahead.
		{Kind: fault.Cut, Process: "c2", Server: "A", At: at(-time.Second - 5*ms), For: 500 * ms},
		{Kind: fault.Cut, Process: "c2", Server: "C", At: at(-time.Second - 5*ms), For: 500 * ms},
		{Kind: fault.Cut, Process: "c1", Server: "C", At: at(-5 * ms), For: time.Second},
		{Kind: fault.Duplicate, Process: "c1", Server: "A", Op: "acquire", Nth: 1, By: 30 * ms},
		{Kind: fault.Delay, Process: "c1", Server: "A", Op: "raise", Nth: 1, By: 50 * ms},
		{Kind: fault.Evict, Server: "A", Key: "k", At: at(10 * ms)},
	}
	take := func(c *simulation.Client, until time.Duration, hold time.Duration) {
		c.SleepUntil(until)
		if lease, err := c.TryAcquire("k"); err == nil {
			c.Sleep(hold)
			_ = c.Release(lease)
		}
	}
	work := func(c *simulation.Client) {
		if c.Name == "c1" {
			take(c, at(0), time.Second)
			return
		}
		take(c, time.Second, ms)
		take(c, at(-time.Second), ms)
		take(c, at(15*ms), 2*ms)
	}
	r, err := simulation.Run(1, cfg, schedule, work)
	require.NoError(t, err)
	assert.Equal(t, []record.ViolationKind{record.TokenOrder}, r.Kinds())
	r, err = simulation.Run(1, cfg, slices.DeleteFunc(schedule, func(f fault.Fault) bool { return f.Kind == fault.Duplicate }), work)
	require.NoError(t, err)
	assert.Empty(t, r.Kinds())
}
