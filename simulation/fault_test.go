package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// withRedis runs work in one process that can use the servers' commands.
func withRedis(t *testing.T, seed uint64, cfg simulation.Config, schedule simulation.Schedule, work func(c *simulation.Client, do func(args ...string) redismodel.Reply)) simulation.Result {
	t.Helper()
	cfg.Processes = 1
	cfg.Quorum.ClockMonitor = quorum.Off
	var redis simulation.Redis
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		redis = p.Redis[0]
		c, err := quorum.New(p.Config, p.Instances...)
		if err != nil {
			return nil, err
		}
		return simulation.Library(c), nil
	}
	return run(t, seed, cfg, schedule, func(c *simulation.Client) {
		work(c, func(args ...string) redismodel.Reply {
			reply, err := redis.Do(c.Context(), args...)
			if err != nil {
				reply.Err = err
			}
			return reply
		})
	})
}

// WAIT answers when the replicas have the write, or when the time is up.
func TestWaitForReplicas(t *testing.T) {
	cfg := simulation.Config{Servers: 1, Replicas: 2, ReplicaLagMin: 10 * ms, ReplicaLagMax: 10 * ms}
	schedule := simulation.Schedule{{Kind: fault.Lag, Server: "A", Replica: 2, At: 500 * ms, By: 200 * ms}}
	r := withRedis(t, 1, cfg, schedule, func(c *simulation.Client, do func(...string) redismodel.Reply) {
		took := func(args ...string) (n int64, d time.Duration) {
			from := c.Clock().Now()
			reply := do(args...)
			require.NoError(t, reply.Err)
			return reply.Int, c.Clock().Since(from)
		}
		n, d := took("WAIT", "2", "0")
		assert.EqualValues(t, 2, n, "nothing was written: all have it")
		assert.Less(t, d, 10*ms)

		do("SET", "k", "v")
		n, d = took("WAIT", "2", "1000")
		assert.EqualValues(t, 2, n)
		assert.InDelta(t, 20*ms, d, float64(5*ms))

		c.SleepUntil(time.Second)
		do("SET", "k", "w")
		n, d = took("WAIT", "2", "50")
		assert.EqualValues(t, 1, n, "one is late")
		assert.InDelta(t, 52*ms, d, float64(5*ms))
		n, _ = took("WAIT", "1", "50")
		assert.EqualValues(t, 1, n)
		n, d = took("WAIT", "3", "100")
		assert.EqualValues(t, 1, n, "there is no third one")
		assert.GreaterOrEqual(t, d, 100*ms)
		n, _ = took("WAIT", "2", "0")
		assert.EqualValues(t, 2, n)

		assert.ErrorContains(t, do("WAIT", "x", "0").Err, "not an integer")
		assert.ErrorContains(t, do("WAIT", "1", "-1").Err, "timeout is negative")
		assert.ErrorContains(t, do("WAIT", "1").Err, "wrong number of arguments")
	})
	require.Empty(t, r.Log.Violations())
	assert.Equal(t, 2, r.Log.Counts()["a WAIT fell short"])
}

// A promoted replica has the data that reached it, and need not be the one that acknowledged.
func TestFailoverPromotesOneReplica(t *testing.T) {
	for replica, want := range map[int]string{1: "new", 2: "old"} {
		cfg := simulation.Config{Servers: 1, Replicas: 2}
		schedule := simulation.Schedule{
			{Kind: fault.Lag, Server: "A", Replica: 2, At: 500 * ms},
			{Kind: fault.Failover, Server: "A", At: 2 * time.Second, For: 100 * ms, Replica: replica},
		}
		r := withRedis(t, 1, cfg, schedule, func(c *simulation.Client, do func(...string) redismodel.Reply) {
			do("SET", "k", "old", "PX", "60000")
			c.SleepUntil(time.Second)
			do("SET", "k", "new", "PX", "60000")
			require.EqualValues(t, 1, do("WAIT", "1", "100").Int, "acknowledged")
			c.SleepUntil(2050 * ms)
			require.ErrorIs(t, do("GET", "k").Err, simulation.ErrRefused)
			c.SleepUntil(2200 * ms)
			require.Equal(t, want, do("GET", "k").Text, "replica %d", replica)
		})
		require.Empty(t, r.Log.Violations())
	}
}

// Semi-synchronous replication answers when a replica has the write, gives up waiting when that
// takes too long, and begins again when a replica has caught up.
func TestSemiSynchronousReplicationFallsBack(t *testing.T) {
	cfg := simulation.Config{Servers: 1, Replicas: 1, ReplicaLagMin: 5 * ms, ReplicaLagMax: 5 * ms, SemiSync: 100 * ms}
	schedule := simulation.Schedule{{Kind: fault.Lag, Server: "A", At: time.Second, For: 2 * time.Second}}
	r := withRedis(t, 1, cfg, schedule, func(c *simulation.Client, do func(...string) redismodel.Reply) {
		set := func(at time.Duration) time.Duration {
			c.SleepUntil(at)
			from := c.Clock().Now()
			require.Equal(t, "OK", do("SET", "k", "v").Text)
			return c.Clock().Since(from)
		}
		assert.InDelta(t, 12*ms, set(0), float64(3*ms), "the replica has it")
		c.SleepUntil(1100 * ms)
		from := c.Clock().Now()
		do("GET", "k")
		assert.Less(t, c.Clock().Since(from), 5*ms, "reads don't wait")
		assert.InDelta(t, 102*ms, set(1500*ms), float64(3*ms), "it gives up")
		assert.Less(t, set(2*time.Second), 5*ms, "it doesn't wait any more")
		assert.InDelta(t, 12*ms, set(4*time.Second), float64(3*ms), "the replica has caught up")
	})
	require.Empty(t, r.Log.Violations())
	assert.Equal(t, 1, r.Log.Counts()["semi-synchronous replication fell back"])
	assert.Contains(t, r.Log.String(), "A falls back")
}

// A grant that must be on a replica fails if it can't be, and is rolled back.
func TestGrantsThatWaitForReplicas(t *testing.T) {
	cfg := simulation.Config{Replicas: 1, WaitReplicas: 1, WaitTimeout: 30 * ms}
	r := play(t, cfg, nil, hold(time.Second), none...)
	assert.Zero(t, r.Log.Counts()["a WAIT fell short"])

	lag := simulation.Schedule{
		{Kind: fault.Lag, Server: "A", For: 5 * time.Second}, {Kind: fault.Lag, Server: "B", For: 5 * time.Second}, {Kind: fault.Lag, Server: "C", For: 5 * time.Second},
	}
	r = play(t, cfg, lag, func(c *simulation.Client) {
		c.SleepUntil(time.Duration(c.Index) * time.Second)
		_, err := c.TryAcquire(key)
		assert.ErrorIs(t, err, wire.ErrNotReplicated)
		c.SleepUntil(time.Duration(6+c.Index) * time.Second)
		lease, err := c.TryAcquire(key)
		assert.NoError(t, err)
		assert.NoError(t, c.Release(lease))
	}, none...)
	assert.Positive(t, r.Log.Counts()["a WAIT fell short"])
}

// Over a restart or a failover, servers keep or lose the recorded runs together with the counters.
// If both are older, the next grant starts from the clock. If nothing was lost it does, too,
// because that can't be known.
func TestCountersOfAnotherRun(t *testing.T) {
	const gone = 30 * time.Second // longer than any quarantine
	for name, c := range map[string]struct {
		cfg      simulation.Config
		schedule simulation.Schedule
		lifted   bool
	}{
		"nothing happens":    {simulation.Config{}, nil, false},
		"older, from disk":   {simulation.Config{Persistence: fault.KeepSecond}, simulation.Schedule{{Kind: fault.Restart, Server: fault.Any, At: 5500 * ms, Keep: fault.KeepSecond}}, true},
		"all of it":          {simulation.Config{Persistence: fault.KeepAll}, simulation.Schedule{{Kind: fault.Restart, Server: fault.Any, At: 5500 * ms, Keep: fault.KeepAll}}, true},
		"older, by replicas": {simulation.Config{Replicas: 1}, simulation.Schedule{{Kind: fault.Lag, Server: fault.Any, At: 5 * time.Second, For: 2 * time.Second}, {Kind: fault.Failover, Server: fault.Any, At: 5500 * ms}}, true},
		"no records":         {simulation.Config{}, recordsDropped(), true},
	} {
		for _, hidden := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hidden %v", name, hidden), func(t *testing.T) {
				cfg := c.cfg
				cfg.Processes, cfg.LatencyMin, cfg.LatencyMax, cfg.HideRunID = 1, ms, ms, hidden
				var tokens []fencing.Token
				r := run(t, 1, cfg, c.schedule, func(cl *simulation.Client) {
					for _, when := range []time.Duration{4500 * ms, 5100 * ms, 5200 * ms, gone} {
						cl.SleepUntil(when)
						lease := take(cl)
						require.NotNil(t, lease)
						tokens = append(tokens, lease.Token())
						_ = cl.Release(lease)
					}
				})
				require.Len(t, tokens, 4)
				require.Equal(t, tokens[1]+1, tokens[2])
				switch older := strings.Contains(name, "older"); {
				case c.lifted && !hidden:
					assert.InDelta(t, gone.Microseconds()-4500*1000, int64(tokens[3]-tokens[0]), 10_000, "from the clock")
					assert.Empty(t, r.Log.Violations())
				case older:
					assert.Equal(t, tokens[1], tokens[3], "the same again")
					assert.Contains(t, r.Kinds(), record.TokenOrder)
				default:
					assert.Equal(t, tokens[2]+1, tokens[3], "it goes on")
					assert.Empty(t, r.Log.Violations())
				}
				assert.Equal(t, hidden, r.Log.Counts()["a server hid its run id"] == 5)
			})
		}
	}
}

// A minority of servers whose clocks are hours ahead, and which have lost their counters, start
// them from those clocks. The others don't follow, and tokens continue with theirs. So nothing is
// violated when all lose their data at the end, and the clocks are corrected.
func TestClocksAheadDoNotSpread(t *testing.T) {
	const ahead = 5 * time.Hour
	schedule := simulation.Schedule{
		{Kind: fault.Restart, Server: fault.Any, At: 100 * time.Second},
	}
	for _, server := range []string{"A", "D"} {
		schedule = append(schedule,
			fault.Fault{Kind: fault.Step, Server: server, At: time.Second, By: ahead},
			fault.Fault{Kind: fault.Restart, Server: server, At: 2 * time.Second},
			fault.Fault{Kind: fault.Step, Server: server, At: 99 * time.Second, By: -ahead},
		)
	}
	for seed := range uint64(10) {
		var first, last fencing.Token
		from := time.Duration(0)
		r := run(t, seed, simulation.Config{Processes: 1, Witness: true}, schedule, func(c *simulation.Client) {
			for when := 500 * ms; when < 150*time.Second; when += 5 * time.Second {
				c.SleepUntil(when)
				lease := take(c)
				if lease == nil {
					continue // in quarantine
				}
				if first == 0 {
					first, from = lease.Token(), when
				}
				last = lease.Token()
				require.Less(t, int64(last-first), (when - from + 10*time.Second).Microseconds(), "seed %d at %v: it follows the clocks that are ahead", seed, when)
				_ = c.Release(lease)
			}
		})
		require.Empty(t, r.Log.Violations())
		require.Greater(t, int64(last-first), (100 * time.Second).Microseconds(), "from the clocks, at the end")
	}
}

// recordsDropped drops the records of all servers.
func recordsDropped() simulation.Schedule {
	var schedule simulation.Schedule
	for _, server := range "ABCDE" {
		schedule = append(schedule, fault.Fault{Kind: fault.Evict, Server: string(server), At: 5500 * ms, Key: "{k}:set"})
	}
	return schedule
}

// A write that arrives twice is carried out twice, unless the resource recognizes it.
func TestRequestsThatArriveTwice(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Duplicate, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 3 * time.Second}}
	inTurn := byName(map[string]simulation.Workload{"c1": hold(0), "c2": func(c *simulation.Client) {
		c.SleepUntil(at(time.Second))
		hold(0)(c)
	}})
	play(t, simulation.Config{}, schedule, inTurn, record.LostUpdate, record.StaleWrite)
	for _, guard := range []simulation.Guarding{simulation.GuardIdempotent, simulation.GuardRepeats} {
		r := play(t, simulation.Config{Guard: guard}, schedule, inTurn, none...)
		assert.Equal(t, 1, r.Log.Counts()["a request arrived twice"])
		assert.Equal(t, 1, r.Log.Counts()["the resource recognised a repeated write"])
	}
	// A write that is late is no repetition.
	late := simulation.Schedule{{Kind: fault.Delay, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 3 * time.Second}}
	play(t, simulation.Config{Guard: simulation.GuardIdempotent}, late, inTurn, none...)
	play(t, simulation.Config{Guard: simulation.GuardRepeats}, late, inTurn, record.LostUpdate, record.StaleWrite)

	// A client that tries again does the same on its own.
	lost := simulation.Schedule{{Kind: fault.Cut, Process: "c1", Server: fault.Resource, Way: fault.Replies, For: 500 * ms}}
	again := func(c *simulation.Client) {
		lease := take(c)
		require.NotNil(t, lease)
		err := c.Write(lease, 7, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, c.Write(lease, 7, 0))
		require.NoError(t, c.Write(lease, 8, 1))
	}
	play(t, simulation.Config{Processes: 1}, lost, again, record.LostUpdate)
	r := play(t, simulation.Config{Processes: 1, Guard: simulation.GuardIdempotent}, lost, again, none...)
	assert.Equal(t, 1, r.Log.Counts()["the resource recognised a repeated write"])

	// A SET NX that a proxy repeats after the release leaves a stray key, for a TTL.
	ghost := simulation.Schedule{{Kind: fault.Duplicate, Process: "c1", Server: fault.Any, Op: "acquire", Nth: 1, By: 3 * time.Second}}
	play(t, simulation.Config{Witness: true}, ghost, hold(time.Second), none...)
}

// A cut connection fails the requests that wait for an answer, and the next request opens another
// one.
func TestConnectionsThatAreCut(t *testing.T) {
	cfg := simulation.Config{Processes: 1, LatencyMin: ms, LatencyMax: ms}
	cfg.Quorum.RestartQuarantine, cfg.Quorum.ClockMonitor = quorum.Off, quorum.Off
	schedule := simulation.Schedule{{Kind: fault.Reconnect, Process: "c1", Server: fault.Any, At: 1500 * time.Microsecond}}
	r := play(t, cfg, schedule, func(c *simulation.Client) {
		_, err := c.TryAcquire(key)
		assert.ErrorIs(t, err, simulation.ErrReset)
		c.Sleep(100 * ms)
		lease, err := c.TryAcquire(key)
		assert.NoError(t, err, "what was carried out has been deleted")
		c.Sleep(100 * ms)
		assert.Len(t, lease.(*quorum.Lease).Instances(), 5)
	}, none...)
	assert.Equal(t, 5, r.Log.Counts()["a reply came too late"])
	assert.Equal(t, 1, r.Log.Counts()["connections were cut"])
	assert.Contains(t, r.Log.String(), "c1 is cut off A#1")
}

// A restarted process knows nothing of its lease, and gets the lock when that has expired, with
// another value and token.
func TestProcessesThatBeginAgain(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Reboot, Process: "c1", Op: "write", Nth: 1, For: time.Second}}
	lives := map[int]string{}
	r := run(t, 1, simulation.Config{Processes: 1, Witness: true}, schedule, func(c *simulation.Client) {
		for range 30 {
			if lease := take(c); lease != nil {
				lives[c.Incarnation] = lease.Value()
				update(c, lease)
				_ = c.Release(lease)
				return
			}
			c.Sleep(time.Second)
		}
	})
	require.Empty(t, r.Log.Violations())
	assert.Equal(t, 2, count(r, "c1", "acquired"))
	assert.Equal(t, 1, count(r, "c1", "write"))
	assert.Equal(t, 1, r.Log.Counts()["a process was rebooted"])
	assert.Len(t, lives, 2)
	assert.NotEqual(t, lives[0], lives[1])
	assert.Greater(t, r.Ended, 10*time.Second, "the old keys had to expire")
}

// Messages that overtake each other do no harm.
func TestMessagesThatOvertakeEachOther(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Reorder, Process: fault.Any, Server: fault.Any, By: 80 * ms}}
	r := play(t, simulation.Config{}, schedule, hold(time.Second), none...)
	assert.Equal(t, 1, count(r, "c1", "write"))
}

// S9b, with a process without a cleanup: the majority has keys of a crashed process, and the others
// report no progress, which one TTL explains.
func TestNoProgressIsFound(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "read", Nth: 1}}
	work := byName(map[string]simulation.Workload{"c1": hold(0), "c2": func(c *simulation.Client) {
		c.SleepUntil(at(500 * ms))
		for range 20 {
			if lease := take(c); lease != nil {
				_ = c.Release(lease)
				return
			}
			c.Sleep(time.Second)
		}
	}})
	r := play(t, simulation.Config{Progress: 5 * time.Second}, schedule, work, record.NoProgress)
	assert.Positive(t, r.Log.Counts()["a failed attempt was checked for progress"])
	play(t, simulation.Config{}, schedule, work, none...)
	play(t, simulation.Config{Progress: -1}, schedule, work, none...)

	// No progress isn't reported while servers are down or cut off, or while there is a holder.
	for _, fault := range []fault.Fault{
		{Kind: fault.Restart, Server: fault.Any, At: at(0), For: 15 * time.Second},
		{Kind: fault.Hang, Server: fault.Any, At: at(0), For: 15 * time.Second},
		{Kind: fault.Cut, Process: "c2", Server: fault.Any, At: at(0), For: 15 * time.Second, Way: fault.Replies},
	} {
		cfg := simulation.Config{Progress: 5 * time.Second}
		cfg.Quorum.RestartQuarantine = quorum.Off // which lasts longer
		r := run(t, 1, cfg, simulation.Schedule{fault}, work)
		assert.NotContains(t, r.Kinds(), record.NoProgress, "%+v", fault)
	}
	play(t, simulation.Config{Progress: 5 * time.Second}, nil, byName(map[string]simulation.Workload{"c1": hold(9 * time.Second), "c2": work}), none...)
}

// hold0 takes the lock once and releases it.
func hold0(c *simulation.Client) {
	if lease := take(c); lease != nil {
		_ = c.Release(lease)
	}
}

// acquireAndRelease waits for the lock and releases it.
func acquireAndRelease(c *simulation.Client) {
	if lease, err := c.Acquire("k"); err == nil {
		_ = c.Release(lease)
	}
}

// Everything counted is in the list of counters, and a thousand runs count most of the list.
func TestCounters(t *testing.T) {
	long.Test(t, "it plays a thousand runs")
	all := record.Counters()
	assert.True(t, slices.IsSorted(all))
	assert.Equal(t, all, slices.Compact(slices.Clone(all)), "no name twice")
	counted := map[string]int{}
	count := func(counts map[string]int) {
		for name, n := range counts {
			require.Contains(t, all, name)
			require.Positive(t, n, name)
			counted[name] += n
		}
	}
	// The keys disappear between the votes and the raise to the largest of these.
	r := run(t, 1, simulation.Config{Processes: 1, LatencyMin: ms, LatencyMax: ms}, simulation.Schedule{
		{Kind: fault.Step, Server: "A", By: time.Second}, {Kind: fault.Step, Server: "B", By: 2 * time.Second},
		{Kind: fault.Step, Server: "C", By: 3 * time.Second}, {Kind: fault.Step, Server: "D", By: 4 * time.Second},
		{Kind: fault.Flush, Server: fault.Any, At: 4500 * time.Microsecond},
	}, hold0)
	require.Positive(t, r.Log.Counts()["raise refused"], "%s", r.Log)
	counted["raise refused"]++
	for _, server := range "ABCDE" {
		r, _ := relay(t, simulation.Schedule{{Kind: fault.Cut, Process: "c2", Server: string(server), At: 9 * time.Second, For: 2 * time.Second, Way: fault.Replies}})
		counted["a notification was lost"] += r.Log.Counts()["a notification was lost"]
	}
	r = run(t, 1, simulation.Config{Processes: 1}, nil, func(c *simulation.Client) {
		for range 3 {
			c.Go(acquireAndRelease)
		}
	})
	counted["a lease was handed to a local waiter"] += r.Log.Counts()["a lease was handed to a local waiter"]
	r = run(t, 1, simulation.Config{HideRunID: true}, nil, hold0)
	counted["a server hid its run id"] += r.Log.Counts()["a server hid its run id"]
	r = run(t, 1, simulation.Config{}, nil, handOver(nil))
	for _, what := range []string{"a lease was handed off", "a lease was resumed"} {
		counted[what] += r.Log.Counts()[what]
	}
	r = run(t, 1, simulation.Config{}, simulation.Schedule{{Kind: fault.Restart, Server: fault.Any, At: time.Second}}, func(c *simulation.Client) {
		hold0(c)
		c.SleepUntil(2 * time.Second)
		hold0(c)
	})
	counted["a server was asked in another run than its own"] += r.Log.Counts()["a server was asked in another run than its own"]
	// These two are rare in random schedules.
	for _, f := range []fault.Fault{
		{Kind: fault.Duplicate, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 3 * time.Second},
		{Kind: fault.Pause, Process: "c1", Op: "read", Nth: 1, For: 12 * time.Second},
	} {
		_, work := pauseAfterTheCheck()
		r = run(t, 1, simulation.Config{Guard: simulation.GuardIdempotent}, simulation.Schedule{f}, work)
		for _, what := range []string{"the resource recognised a repeated write", "the guard refused a read"} {
			counted[what] += r.Log.Counts()[what]
		}
	}
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			// Errors that no acquisition ends with, and commands that the workload doesn't send.
			return counted[name] > 0 || name == "semi-synchronous replication fell back" ||
				slices.ContainsFunc([]string{"no lease: ", "look ", "tick "}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		})
	}
	cfg := simulation.Config{Processes: 3, Guard: simulation.GuardIdempotent, Quorum: quorum.Config{Terms: quorum.Terms{TTL: 2 * time.Second}}}
	for seed := uint64(0); seed < 300 && len(missing()) > 0; seed++ {
		_, r := drawn(t, seed)
		count(r.Log.Counts())
		schedule := simulation.Draw(seed, cfg, fault.Kinds(), 16, 10*time.Second)
		schedule = append(schedule, fault.Fault{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 2, For: 3 * time.Second})
		count(run(t, seed, cfg, schedule, watchAndContend).Log.Counts())
	}
	assert.Empty(t, missing(), "never reached")
}

// A lease with too long a validity is counted, and is a violation only if the design promises its
// validity.
func TestPromisedForTooLong(t *testing.T) {
	slow := simulation.Config{Servers: 1, Processes: 1, LatencyMin: 5 * ms, LatencyMax: 5 * ms}
	for servers := range 2 {
		cfg := slow
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			return lateLocker{&bare{p: p, ttl: 10 * time.Second}, servers}, nil
		}
		r := play(t, cfg, nil, func(c *simulation.Client) {
			lease := take(c)
			require.NotNil(t, lease)
			require.NoError(t, c.Extend(lease))
		}, none...)
		assert.Equal(t, 2*servers, r.Log.Counts()[record.LongerThanKept])
	}
}

// lateLocker counts its leases from the answers.
type lateLocker struct {
	*bare
	servers int
}

type lateLease struct {
	*bareLease
	servers int
}

func (l lateLocker) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	lease, err := l.bare.TryAcquire(ctx, key)
	if err != nil {
		return nil, err
	}
	late := &lateLease{lease.(*bareLease), l.servers}
	late.until = l.p.Config.Clock.Now().Add(l.ttl)
	return late, nil
}

func (l *lateLease) Quorum() int  { return 0 }
func (l *lateLease) Servers() int { return l.servers }

func (l *lateLease) Extend(ctx context.Context) error {
	err := l.bareLease.Extend(ctx)
	l.until = l.p.Config.Clock.Now().Add(l.ttl)
	return err
}
