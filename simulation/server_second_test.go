package simulation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// splitInTwo is a schedule in which A splits in two at 500, and c1 and c2 share only A: c1 reaches
// B and C, and c2 D and E.
func splitInTwo(length time.Duration) simulation.Schedule {
	s := simulation.Schedule{{Kind: fault.SplitBrain, Process: "c1", Server: "A", At: 500 * ms, For: length}}
	for process, servers := range map[string]string{"c1": "DE", "c2": "BC"} {
		for _, server := range servers {
			s = append(s, fault.Fault{Kind: fault.Cut, Process: process, Server: string(server), At: 400 * ms})
		}
	}
	slices.SortFunc(s, func(a, b fault.Fault) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return s
}

// holdAndTry has c1 hold the lock for as long as possible, and c2 ask for it.
func holdAndTry(c *simulation.Client) {
	if _, err := c.Coordinator.Verify(c.Context()); err != nil {
		c.Note("verify failed")
	}
	if c.Index == 0 {
		c.SleepUntil(time.Second)
		if lease := take(c); lease != nil {
			c.KeepAlive(lease)
			c.Sleep(6 * time.Second)
			_ = c.Release(lease)
		}
		return
	}
	for c.SleepUntil(1200 * ms); ; c.Sleep(200 * ms) {
		if lease := take(c); lease != nil {
			_ = c.Release(lease)
			return
		}
	}
}

// While a server is split in two, each client reaches its own half, and what the old master did alone is
// lost in the end.
func TestSplitBrain(t *testing.T) {
	cfg := simulation.Config{Quorum: quorum.Config{TTL: 2 * time.Second, Lab: quorum.Lab{RestartQuarantine: quorum.Off}}}
	r := run(t, 1, cfg, splitInTwo(3*time.Second), holdAndTry)
	assert.Contains(t, r.Kinds(), record.TwoHolders)
	assert.Equal(t, 1, r.Log.Counts()["a server split in two"])
	before, after, found := strings.Cut(r.Log.String(), "3500.000000 A is back")
	require.True(t, found)
	assert.Regexp(t, "A' acquire c1#.*granted", before)
	assert.Regexp(t, "A acquire c2#.*granted", before)
	assert.NotRegexp(t, "[^~']A acquire c1#.*granted|A' acquire c2#", before)
	assert.Contains(t, after, "3500.000000 A' has key=k gone")
	assert.NotContains(t, after, "A' extend", "nobody reaches it any more")
	assert.Contains(t, after, "A extend c1#", "c1 reaches the new one")
}

// Whatever happens to servers at the same time, and to their connections, every run ends.
func TestFaultsOfServersTogether(t *testing.T) {
	kinds := []fault.Kind{
		fault.SplitBrain, fault.Switch, fault.Hang, fault.Restart, fault.Failover, fault.Lag, fault.Crash, fault.Reboot,
	}
	for seed := range long.Number[uint64](150, 30) {
		cfg := contended()
		cfg.Replicas = int(seed % 3)
		schedule := simulation.Draw(seed, cfg, kinds, 8, 10*time.Second)
		r := run(t, seed, cfg, schedule, contend)
		for _, kind := range r.Kinds() {
			require.NotContains(t, []record.ViolationKind{record.Stuck, record.LeftOver, record.Panicked, record.NeverFree, record.NoProgress}, kind, "seed %d\n%v", seed, schedule)
		}
	}
}

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
	schedule := append(slices.DeleteFunc(splitInTwo(0), func(f fault.Fault) bool { return f.Kind == fault.SplitBrain }),
		fault.Fault{Kind: fault.Switch, Process: "c2", Server: "A", At: time.Second})
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
				before = wire.Known{RunID: id.RunID, Epoch: id.Epoch(), Voter: id.RunID}
				found[at] = id.Served.Round(ms)
			}
		})
		require.NoError(t, err)
		require.Equal(t, probes, found)
	}
	const sec = time.Second
	const age = time.Hour
	type probes = map[time.Duration]time.Duration
	served(t, nil, probes{sec: age + sec, 2 * sec: age + 2*sec})
	served(t, simulation.Schedule{{Kind: fault.Restart, Server: "A", At: 2 * sec, For: ms}}, probes{sec: age + sec, 3 * sec: 0, 4 * sec: sec})
	served(t, simulation.Schedule{{Kind: fault.Flush, Server: "A", At: 2 * sec}}, probes{sec: age + sec, 3 * sec: 0, 4 * sec: sec})
	served(t, simulation.Schedule{{Kind: fault.Switch, Process: fault.Any, Server: "A", At: 2 * sec, For: 2 * sec}},
		probes{sec: age + sec, 3 * sec: 0, 3500 * ms: 500 * ms, 5 * sec: 0, 6 * sec: sec})
}
