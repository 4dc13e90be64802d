package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// While an address leads a client to another server, its connections reach that one alone.
func TestSwitchedAddress(t *testing.T) {
	move := fault.Fault{Kind: fault.Switch, Process: "c1", Server: "A", At: time.Second, For: 2 * time.Second}
	again := move
	again.At = 5 * time.Second
	r := withRedis(t, 1, simulation.Config{Servers: 1}, simulation.Schedule{move, again}, func(c *simulation.Client, do func(...string) redismodel.Reply) {
		do("SET", "k", "first")
		for _, look := range []struct {
			at    time.Duration
			found string
		}{{500 * ms, "first"}, {1100 * ms, ""}, {2900 * ms, "second"}, {3100 * ms, "first"}, {6 * time.Second, ""}} {
			c.SleepUntil(look.at)
			assert.Equal(t, look.found, do("GET", "k").Text, "at %v", look.at)
			if look.found == "" {
				do("SET", "k", "second")
			}
		}
	})
	assert.Equal(t, 2, r.Log.Counts()["an address was switched"])
	assert.Contains(t, r.Log.String(), "c1-A suffers switch for=2000000000")
	assert.Contains(t, r.Log.String(), "A~ set c1#")
	assert.Contains(t, r.Log.String(), "3000.000000 A is back")
}

// A client that still has connections to the old server can get a lease from it until they end. If
// these and the lease together last no longer than the quarantine that others keep for the new
// server, there is one holder. So the library subtracts their life from the longest TTL, if its
// instances say how long it is (wire.Instance.ConnLife).
func TestLeaseOverAnOldConnection(t *testing.T) {
	const lives, ttl = 5 * time.Second, 10 * time.Second
	schedule := simulation.Schedule{{Kind: fault.Switch, Process: "c2", Server: "A", At: time.Second}}
	for i, process := range []string{"c2", "c2", "c1", "c1"} { // they share A alone
		schedule = append(schedule, fault.Fault{Kind: fault.Cut, Process: process, Server: string(rune('B' + i)), At: 400 * ms})
	}
	work := func(c *simulation.Client) {
		_, _ = c.Coordinator.Verify(c.Context())
		if c.Index == 0 {
			c.SleepUntil(time.Second + lives - 100*ms)
			if lease := take(c); lease != nil {
				c.Sleep(ttl)
			}
			return
		}
		for c.SleepUntil(1200 * ms); ; c.Sleep(200 * ms) {
			if lease := take(c); lease != nil {
				return
			}
		}
	}
	play := func(maxTTL time.Duration) simulation.Result {
		return run(t, 1, simulation.Config{Quorum: quorum.Config{TTL: ttl, MaxTTL: maxTTL, Lab: quorum.Lab{ClockMonitor: quorum.Off}}}, schedule, work)
	}
	r := play(lives + ttl)
	require.Empty(t, r.Log.Violations())
	assert.Equal(t, 2, r.Log.Counts()["a lease was acquired"])
	assert.Contains(t, r.Log.String(), "A acquire c1#", "over the old connection")
	assert.Contains(t, r.Log.String(), "A~ acquire c2#")
	assert.Contains(t, play(ttl).Kinds(), record.TwoHolders)
}
