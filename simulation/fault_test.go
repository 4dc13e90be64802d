package simulation_test

import (
	"context"
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

// withRedis runs work in one process that can use the servers' commands.
func withRedis(t *testing.T, seed uint64, cfg simulation.Config, schedule simulation.Schedule, work func(c *simulation.Client, do func(args ...string) redismodel.Reply)) simulation.Result {
	t.Helper()
	cfg.Processes = 1
	cfg.Quorum.Lab.ClockMonitor = quorum.Off
	var redis simulation.Redis
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		redis = p.Redis[0]
		return simulation.Library(p)
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
	schedule := simulation.Schedule{
		{Kind: fault.Lag, Server: "A", Replica: 2, By: 200 * ms}, {Kind: fault.Hang, Server: "A", At: 1100 * ms, For: time.Second},
	}
	r := withRedis(t, 1, simulation.Config{Servers: 1, Replicas: 2}, schedule, func(c *simulation.Client, do func(...string) redismodel.Reply) {
		began := c.Clock().Now()
		require.EqualValues(t, 2, do("WAIT", "2", "0").Int, "nothing was written: all have it")
		do("SET", "k", "v")
		from := c.Clock().Now()
		for _, wait := range []struct {
			replicas, timeout string
			have              int64
			until             time.Duration
		}{
			{"2", "50", 1, 50 * ms}, // one is late
			{"1", "50", 1, 50 * ms},
			{"3", "100", 1, 150 * ms}, // there is no third one
			{"2", "0", 2, 200 * ms},
		} {
			assert.EqualValues(t, wait.have, do("WAIT", wait.replicas, wait.timeout).Int)
			assert.InDelta(t, wait.until, c.Clock().Since(from), float64(20*ms))
		}
		assert.ErrorContains(t, do("WAIT", "x", "0").Err, "not an integer")
		assert.ErrorContains(t, do("WAIT", "1", "-1").Err, "timeout is not an integer")
		assert.ErrorContains(t, do("WAIT", "1").Err, "wrong number of arguments")
		c.SleepUntil(time.Second)
		do("SET", "k", "w")
		assert.EqualValues(t, 2, do("WAIT", "2", "0").Int)
		assert.InDelta(t, 2100*ms, c.Clock().Since(began), float64(20*ms), "it hangs when the replicas have it")
	})
	assert.Equal(t, 2, r.Log.Counts()["a WAIT fell short"])
}

// Semi-synchronous replication answers when a replica has the write, gives up waiting when that
// takes too long, and begins again when a replica has caught up.
func TestSemiSynchronousReplicationFallsBack(t *testing.T) {
	cfg := simulation.Config{Servers: 1, Replicas: 1, SemiSync: 100 * ms}
	schedule := simulation.Schedule{
		{Kind: fault.Lag, Server: "A", At: time.Second, For: 2 * time.Second}, {Kind: fault.Lag, Server: "A", At: 5 * time.Second},
	}
	r := withRedis(t, 1, cfg, schedule, func(c *simulation.Client, do func(...string) redismodel.Reply) {
		for _, set := range []struct{ at, takes time.Duration }{
			{0, 5 * ms}, {1500 * ms, 100 * ms}, {2 * time.Second, 0}, {4 * time.Second, 5 * ms}, {6 * time.Second, 100 * ms},
		} {
			c.SleepUntil(set.at)
			from := c.Clock().Now()
			require.Equal(t, "OK", do("SET", "k", "v").Text)
			assert.InDelta(t, set.takes, c.Clock().Since(from), float64(5*ms), "at %v", set.at)
		}
	})
	assert.Equal(t, 2, r.Log.Counts()["semi-synchronous replication fell back"])
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
		cfg.Quorum.Lab.RestartQuarantine = quorum.Off // which lasts longer
		r := run(t, 1, cfg, simulation.Schedule{fault}, work)
		assert.NotContains(t, r.Kinds(), record.NoProgress, "%+v", fault)
	}
	play(t, simulation.Config{Progress: 5 * time.Second}, nil, byName(map[string]simulation.Workload{"c1": hold(9 * time.Second), "c2": work}), none...)
}

// A client that repeats a write that wasn't answered loses its update to itself, unless the resource
// recognises the repetition.
func TestRepeatedWrites(t *testing.T) {
	lost := simulation.Schedule{{Kind: fault.Lose, Process: "c1", Server: fault.Resource, Way: fault.Replies, Op: "write", Nth: 1}}
	again := func(c *simulation.Client) {
		lease := take(c)
		require.ErrorIs(t, c.Write(lease, 7, 0), context.DeadlineExceeded)
		require.NoError(t, c.Write(lease, 7, 0))
		require.NoError(t, c.Write(lease, 8, 1))
	}
	play(t, simulation.Config{Processes: 1}, lost, again, record.LostUpdate)
	for _, guard := range []simulation.Guarding{simulation.GuardIdempotent, simulation.GuardRepeats} {
		r := play(t, simulation.Config{Processes: 1, Guard: guard}, lost, again, none...)
		assert.Equal(t, 1, r.Log.Counts()["the resource recognised a repeated write"])
		// A write that arrives after a later one of its lease is refused.
		late := simulation.Schedule{{Kind: fault.Delay, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 3 * time.Second}}
		r = play(t, simulation.Config{Processes: 1, Guard: guard}, late, func(c *simulation.Client) {
			lease := take(c)
			require.ErrorIs(t, c.Write(lease, 7, 0), context.DeadlineExceeded)
			require.NoError(t, c.Write(lease, 8, 0))
			c.Sleep(5 * time.Second)
		}, none...)
		assert.Equal(t, 1, r.Log.Counts()["the guard refused a write"])
	}
}
