package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// An address that has moved leads new connections to another server, while old ones stay with their
// server until they end.
func TestSwitchedAddress(t *testing.T) {
	move := fault.Fault{Kind: fault.Switch, Process: fault.Any, Server: "A", At: time.Second, For: 2 * time.Second}
	cut := func(at time.Duration) fault.Fault {
		return fault.Fault{Kind: fault.Reconnect, Process: "c1", Server: "A", At: at}
	}
	// found is what GET finds after so much time.
	play := func(t *testing.T, schedule simulation.Schedule, found map[time.Duration]string) simulation.Result {
		return withRedis(t, 1, simulation.Config{Servers: 1}, schedule, func(c *simulation.Client, do func(...string) redismodel.Reply) {
			do("SET", "k", "first")
			at := make([]time.Duration, 0, len(found))
			for moment := range found {
				at = append(at, moment)
			}
			slices.Sort(at)
			for _, moment := range at {
				c.SleepUntil(moment)
				require.Equal(t, found[moment], do("GET", "k").Text, "at %v", moment)
				if found[moment] == "" {
					do("SET", "k", "second")
				}
			}
		})
	}
	t.Run("old connections live on", func(t *testing.T) {
		r := play(t, simulation.Schedule{move}, map[time.Duration]string{1500 * ms: "first", 2900 * ms: "first", 4 * time.Second: "first"})
		assert.Equal(t, 1, r.Log.Counts()["an address was switched"])
		assert.Contains(t, r.Log.String(), "*-A suffers switch for=2000000000")
		assert.Contains(t, r.Log.String(), "3000.000000 A is back")
	})
	t.Run("until they break", func(t *testing.T) {
		r := play(t, simulation.Schedule{move, cut(1600 * ms), cut(3500 * ms)}, map[time.Duration]string{
			1500 * ms: "first", 1700 * ms: "", 2900 * ms: "second", 3400 * ms: "second", 3600 * ms: "first",
		})
		assert.Contains(t, r.Log.String(), "A~ set c1#")
	})
	t.Run("or are too old", func(t *testing.T) {
		bounded := move
		bounded.By = 300 * ms
		play(t, simulation.Schedule{bounded}, map[time.Duration]string{1200 * ms: "first", 1400 * ms: "", 3200 * ms: "second", 3400 * ms: "first"})
	})
	t.Run("and keep their data", func(t *testing.T) {
		again := move
		again.At = 5 * time.Second
		play(t, simulation.Schedule{move, cut(1600 * ms), cut(3500 * ms), again, cut(5500 * ms)}, map[time.Duration]string{1700 * ms: "", 4 * time.Second: "first", 5600 * ms: "second"})
	})
	t.Run("some of several", func(t *testing.T) {
		pool := move
		pool.PPM = 500_000
		found := map[string]int{}
		r := withRedis(t, 1, simulation.Config{Servers: 1}, simulation.Schedule{pool}, func(c *simulation.Client, do func(...string) redismodel.Reply) {
			do("SET", "k", "first")
			c.SleepUntil(1100 * ms)
			for range 40 {
				found[do("GET", "k").Text]++
			}
			c.SleepUntil(3100 * ms)
			require.Equal(t, "first", do("GET", "k").Text)
		})
		assert.Greater(t, found["first"], 10)
		assert.Greater(t, found[""], 10)
		assert.Empty(t, r.Log.Violations())
	})
}

// A client that still has connections to the old server can get a lease from it until they end. If
// these and the lease together last no longer than the quarantine that others keep for the new
// server, there is one holder. The library ensures that if its instances say how long connections
// last.
func TestLeaseOverAnOldConnection(t *testing.T) {
	const lives, ttl = 5 * time.Second, 10 * time.Second
	schedule := append(slices.DeleteFunc(splitInTwo(0), func(f fault.Fault) bool { return f.Kind == fault.SplitBrain }),
		fault.Fault{Kind: fault.Switch, Process: fault.Any, Server: "A", At: time.Second, By: lives},
		fault.Fault{Kind: fault.Reconnect, Process: "c2", Server: "A", At: 1050 * ms})
	work := func(c *simulation.Client) {
		_, _ = c.Coordinator.Verify(c.Context())
		if c.Index == 0 {
			c.SleepUntil(5900 * ms)
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
	run := func(connLife, maxTTL time.Duration) (simulation.Result, error) {
		return simulation.Run(1, simulation.Config{ConnLife: connLife, Quorum: quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: maxTTL, ClockMonitor: quorum.Off}}, schedule, work)
	}
	r, err := run(lives, lives+ttl)
	require.NoError(t, err)
	require.Empty(t, r.Log.Violations())
	assert.Equal(t, 2, r.Log.Counts()["a lease was acquired"])
	assert.Contains(t, r.Log.String(), "A acquire c1#", "over the old connection")
	assert.Contains(t, r.Log.String(), "A~ acquire c2#")

	r, err = run(lives, lives+ttl-time.Millisecond)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(r.Log.Violations()), "5s of it are for connections", "the library refuses such terms")
	assert.Zero(t, r.Log.Counts()["a lease was acquired"])

	r, err = run(0, ttl)
	require.NoError(t, err)
	assert.Contains(t, r.Kinds(), record.TwoHolders, "connections that nobody tells of")
}

// A master that was demoted and promoted again has kept its run ID and no data, and no connection
// has broken.
func TestDemotion(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Demote, Server: "A", At: time.Second, For: time.Second}}
	var ids []wire.Identity
	cfg := simulation.Config{Servers: 1, Processes: 1, Replicas: 1}
	var inst wire.Instance
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		inst = p.Instances[0]
		return simulation.Library(p)
	}
	r, err := simulation.Run(1, cfg, schedule, func(c *simulation.Client) {
		for i, at := range []time.Duration{500 * ms, 1500 * ms, 2500 * ms} {
			c.SleepUntil(at)
			id, err := inst.Probe(c.Context(), wire.Known{})
			require.NoError(t, err)
			ids = append(ids, id)
			vote := quorumtest.Do(c.Context(), inst, wire.Request{Op: wire.Acquire, Key: "k", Value: strings.Repeat("0", 39) + string(rune('0'+i)), TTL: time.Minute})
			if i == 1 {
				var role *quorum.RoleError
				require.ErrorAs(t, vote.Err, &role)
				continue
			}
			require.Equal(t, wire.Granted, vote.Outcome, "the key is gone")
		}
	})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Log.Counts()["a server was demoted"])
	assert.Equal(t, ids[0].RunID, ids[1].RunID)
	assert.Equal(t, ids[0].RunID, ids[2].RunID)
	assert.Empty(t, ids[1].Run(), "a replica leads no run")
	assert.NotEqual(t, ids[0].Run(), ids[2].Run())
	assert.NotEqual(t, ids[1].ReplID, ids[2].ReplID)
	assert.True(t, ids[2].Promoted)
	assert.Greater(t, ids[2].Uptime, ids[0].Uptime)
	assert.NotContains(t, r.Log.String(), "is cut off")
}

// Clients leave a mark on a server for each name and run, as on real servers: see
// wire.Identity.Served.
func TestMarks(t *testing.T) {
	served := func(t *testing.T, schedule simulation.Schedule, probes map[time.Duration]time.Duration) {
		t.Helper()
		var inst wire.Instance
		cfg := simulation.Config{Servers: 1, Processes: 1, Replicas: 1, LatencyMin: 1, LatencyMax: 1, Locker: func(p simulation.Process) (simulation.Locker, error) {
			inst = p.Instances[0]
			return simulation.Library(p)
		}}
		found, before := map[time.Duration]time.Duration{}, wire.Known{}
		_, err := simulation.Run(1, cfg, schedule, func(c *simulation.Client) {
			for _, at := range slices.Sorted(maps.Keys(probes)) {
				c.SleepUntil(at)
				id, err := inst.Probe(c.Context(), before)
				require.NoError(t, err)
				before = wire.Known{RunID: id.RunID, Epoch: id.Epoch, Voter: id.RunID}
				found[at] = id.Served.Round(ms)
				if id.Served < 0 {
					found[at] = -1
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, probes, found)
	}
	onA := func(kind fault.Kind, at, length time.Duration) fault.Fault {
		return fault.Fault{Kind: kind, Server: "A", At: at, For: length}
	}
	const sec = time.Second
	const age = time.Hour
	t.Run("a server that has been served for long", func(t *testing.T) {
		served(t, nil, map[time.Duration]time.Duration{sec: age + sec, 2 * sec: age + 2*sec})
	})
	t.Run("another run", func(t *testing.T) {
		served(t, simulation.Schedule{onA(fault.Restart, 2*sec, ms)}, map[time.Duration]time.Duration{sec: age + sec, 3 * sec: 0, 4 * sec: sec})
	})
	t.Run("data that is lost", func(t *testing.T) {
		served(t, simulation.Schedule{onA(fault.Flush, 2*sec, 0)}, map[time.Duration]time.Duration{sec: age + sec, 3 * sec: 0, 4 * sec: sec})
	})
	t.Run("a replica", func(t *testing.T) {
		served(t, simulation.Schedule{onA(fault.Demote, 2*sec, 2*sec)}, map[time.Duration]time.Duration{sec: age + sec, 3 * sec: -1, 5 * sec: 0, 6 * sec: sec})
	})
	t.Run("an address that moves and comes back", func(t *testing.T) {
		move := onA(fault.Switch, 2*sec, 2*sec)
		move.Process, move.By = fault.Any, ms
		served(t, simulation.Schedule{move}, map[time.Duration]time.Duration{sec: age + sec, 3 * sec: 0, 3500 * ms: 500 * ms, 5 * sec: 0, 6 * sec: sec})
	})
}

// stays is a lock that everyone has.
type stays struct{}

func (stays) TryAcquire(context.Context, string) (simulation.Lease, error) { return stays{}, nil }
func (stays) Acquire(context.Context, string) (simulation.Lease, error)    { return stays{}, nil }
func (stays) Close(context.Context) error                                  { return nil }
func (stays) Key() string                                                  { return "k" }
func (stays) Value() string                                                { return "" }
func (stays) Token() fencing.Token                                         { return 0 }
func (stays) Validity() time.Duration                                      { return time.Second }
func (stays) Extend(context.Context) error                                 { return nil }
func (stays) Release(context.Context) error                                { return nil }

// Locks of another kind can't be handed off, and say so.
func TestLeasesThatStay(t *testing.T) {
	cfg := simulation.Config{Processes: 1, Locker: func(p simulation.Process) (simulation.Locker, error) { return stays{}, nil }}
	r, err := simulation.Run(1, cfg, nil, func(c *simulation.Client) {
		lease, err := c.TryAcquire("k")
		require.NoError(t, err)
		_, err = c.HandOff(lease)
		require.ErrorContains(t, err, "can't be handed off")
		_, err = c.Resume(quorum.Handle{})
		require.ErrorContains(t, err, "can't be handed off")
		require.ErrorContains(t, c.ReleaseHandle(quorum.Handle{}), "can't be handed off")
		_, err = c.Inspect("k")
		require.ErrorContains(t, err, "can't be handed off")
		_, ok := c.Letter()
		require.False(t, ok)
	})
	require.NoError(t, err)
	require.Empty(t, r.Log.Violations())
}
