package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

const (
	ms  = time.Millisecond
	key = "k"
)

// seeds is how many seeds each scenario is played with: latencies and the order of
// what happens at one moment differ, the verdict doesn't.
const seeds = 50

// none is the verdict of a run in which the checks found nothing.
var none []simulation.ViolationKind

// play plays a scenario with all seeds and demands the same kinds of violations
// in each run. It gives the last run.
func play(t *testing.T, cfg simulation.Config, schedule simulation.Schedule, work simulation.Workload, want ...simulation.ViolationKind) simulation.Result {
	t.Helper()
	slices.Sort(want)
	var last simulation.Result
	for seed := range uint64(seeds) {
		r, err := simulation.Run(seed, cfg, schedule, work)
		require.NoError(t, err)
		require.Equal(t, want, r.Kinds(), "seed %d: %v\n%s", seed, r.Violations, r.Trace)
		last = r
	}
	return last
}

// byName gives each process a part of its own.
func byName(parts map[string]simulation.Workload) simulation.Workload {
	return func(c *simulation.Client) {
		// Who watches before the fault can notice it. The second time finds the
		// connections open, so that no vote has to be asked about anew.
		for range 2 {
			if _, err := c.Coordinator.Verify(c.Context()); err != nil {
				c.Note("verify failed")
			}
		}
		parts[c.Name](c)
	}
}

// take acquires the key or says in the trace that it couldn't.
func take(c *simulation.Client) simulation.Lease {
	lease, err := c.TryAcquire(key)
	if err != nil {
		return nil
	}
	return lease
}

// update reads, adds one and writes, if the lease is valid at each look.
func update(c *simulation.Client, lease simulation.Lease) {
	value, version, err := c.Read(lease)
	if err != nil || !c.Valid(lease) {
		return
	}
	_ = c.Write(lease, value+1, version) // refused or unknown: the checks see what became of it
}

// at counts from one second on: before that the processes look around.
func at(d time.Duration) time.Duration { return time.Second + d }

// count gives how many entries of the history are of this kind.
func count(r simulation.Result, process, what string) int {
	n := 0
	for _, e := range r.History {
		if e.Process == process && e.What == what {
			n++
		}
	}
	return n
}

// S1: the holder is paused between its look at the lease and its write.
func pauseAfterTheCheck() (simulation.Schedule, simulation.Workload) {
	schedule := simulation.Schedule{{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}}
	return schedule, byName(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			if lease := take(c); lease != nil {
				update(c, lease)
				_ = c.Release(lease)
			}
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(10_100 * ms))
			if lease := take(c); lease != nil {
				update(c, lease)
				c.Sleep(5 * time.Second)
				_ = c.Release(lease)
			}
		},
	})
}

func TestS1PauseAfterTheCheck(t *testing.T) {
	schedule, work := pauseAfterTheCheck()
	r := play(t, simulation.Config{}, schedule, work, simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders)
	assert.Equal(t, 1, count(r, "c1", "write"))

	r = play(t, simulation.Config{Guard: simulation.GuardAdmits}, schedule, work, none...)
	assert.Equal(t, 1, r.Counts["the guard refused a write"])
	assert.Equal(t, 1, count(r, "c2", "write"))
}

// pauseBeforeTheCheck is S3: the replies come while the process is paused.
func pauseBeforeTheCheck(fault simulation.Fault) (simulation.Config, simulation.Schedule, simulation.Workload) {
	cfg := simulation.Config{LatencyMin: ms, LatencyMax: ms}
	fault.Process, fault.At, fault.For = "c1", at(1500*time.Microsecond), 12*time.Second
	return cfg, simulation.Schedule{fault}, byName(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			if lease := take(c); lease != nil {
				update(c, lease)
			}
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(10_100 * ms))
			if lease := take(c); lease != nil {
				update(c, lease)
				c.Sleep(5 * time.Second)
			}
		},
	})
}

func TestS3PauseBeforeTheCheck(t *testing.T) {
	cfg, schedule, work := pauseBeforeTheCheck(simulation.Fault{Kind: simulation.Pause})
	r := play(t, cfg, schedule, work, none...)
	assert.Equal(t, 1, r.Counts["no lease: "+quorum.ErrTooSlow.Error()], "c1 has read its grants: %v", r.Counts)
	assert.Equal(t, 1, count(r, "c2", "write"))
}

// The same with a machine whose clocks stand still: then nothing can tell how late
// it is. That this is found shows that the verdict of S3 is worth something.
func TestS3WithClocksThatStandStill(t *testing.T) {
	cfg, schedule, work := pauseBeforeTheCheck(simulation.Fault{Kind: simulation.Suspend, Frozen: true})
	play(t, cfg, schedule, work, simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders)
}

// oneVoteLost is what S4, S7 and S8 have in common: c1 gets A, B and C, then something
// becomes of C, and c2 asks.
func oneVoteLost(override func(*quorum.Config), fault simulation.Fault) (simulation.Config, simulation.Schedule, simulation.Workload) {
	cfg := simulation.Config{}
	override(&cfg.Quorum)
	schedule := simulation.Schedule{
		{Kind: simulation.Cut, Process: "c1", Server: "D", At: at(-50 * ms)},
		{Kind: simulation.Cut, Process: "c1", Server: "E", At: at(-50 * ms)},
		fault,
	}
	return cfg, schedule, byName(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			if lease := take(c); lease != nil {
				update(c, lease)
				c.SleepUntil(at(5 * time.Second))
				_ = c.Release(lease)
			}
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(200 * ms))
			if lease := take(c); lease != nil {
				update(c, lease)
				c.Sleep(time.Second)
				_ = c.Release(lease)
			}
		},
	})
}

func TestS4ClockJumpsForward(t *testing.T) {
	jump := simulation.Fault{Kind: simulation.Step, Server: "C", At: at(100 * ms), By: 15 * time.Second}

	cfg, schedule, work := oneVoteLost(func(c *quorum.Config) { c.ClockMonitor = quorum.Off }, jump)
	r := play(t, cfg, schedule, work, simulation.TwoHolders)
	assert.Equal(t, 1, count(r, "c1", "acquired"))
	assert.Equal(t, 1, count(r, "c2", "acquired"))

	cfg, schedule, work = oneVoteLost(func(*quorum.Config) {}, jump)
	r = play(t, cfg, schedule, work, none...)
	assert.Equal(t, 1, count(r, "c1", "acquired"))
	assert.Equal(t, 1, count(r, "c2", "refused"))
	assert.Positive(t, r.Counts["a clock was seen to jump"])
}

func TestS7CrashWithoutFsync(t *testing.T) {
	crash := simulation.Fault{Kind: simulation.Restart, Server: "C", At: at(50 * ms), For: 100 * ms}

	cfg, schedule, work := oneVoteLost(func(c *quorum.Config) { c.RestartQuarantine = quorum.Off }, crash)
	r := play(t, cfg, schedule, work, simulation.TwoHolders)
	assert.Equal(t, 1, count(r, "c2", "acquired"))

	cfg, schedule, work = oneVoteLost(func(*quorum.Config) {}, crash)
	r = play(t, cfg, schedule, work, none...)
	assert.Equal(t, 1, count(r, "c1", "acquired"))
	assert.Equal(t, 1, count(r, "c2", "refused"))
}

// A server that has every write on disk forgets nothing, and needs no quarantine.
func TestS7CrashWithFsync(t *testing.T) {
	crash := simulation.Fault{Kind: simulation.Restart, Server: "C", At: at(50 * ms), For: 100 * ms, Keep: simulation.KeepAll}
	cfg, schedule, work := oneVoteLost(func(c *quorum.Config) { c.RestartQuarantine = quorum.Off }, crash)
	r := play(t, cfg, schedule, work, none...)
	assert.Equal(t, 1, count(r, "c2", "refused"))
}

// S8: the replica that takes over hasn't got C's last command.
func TestS8FailoverToAReplicaThatLags(t *testing.T) {
	failover := simulation.Fault{Kind: simulation.Failover, Server: "C", At: at(50 * ms), By: 100 * ms}

	cfg, schedule, work := oneVoteLost(func(c *quorum.Config) { c.RestartQuarantine = quorum.Off }, failover)
	play(t, cfg, schedule, work, simulation.TwoHolders)

	cfg, schedule, work = oneVoteLost(func(*quorum.Config) {}, failover)
	play(t, cfg, schedule, work, none...)

	failover.By = 0
	cfg, schedule, work = oneVoteLost(func(c *quorum.Config) { c.RestartQuarantine = quorum.Off }, failover)
	play(t, cfg, schedule, work, none...)
}

func suspended(frozen bool) (simulation.Schedule, simulation.Workload) {
	schedule := simulation.Schedule{{Kind: simulation.Suspend, Process: "c1", At: at(time.Second), For: 59 * time.Second, Frozen: frozen}}
	return schedule, byName(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			if lease := take(c); lease != nil {
				c.Sleep(2 * time.Second) // on the clock that stands still
				if c.Valid(lease) {
					update(c, lease)
				}
				_ = c.Release(lease)
			}
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(10_100 * ms))
			if lease := take(c); lease != nil {
				update(c, lease)
				c.Sleep(time.Second)
				_ = c.Release(lease)
			}
		},
	})
}

func TestS15Suspended(t *testing.T) {
	schedule, work := suspended(false)
	r := play(t, simulation.Config{}, schedule, work, none...)
	assert.Equal(t, 1, count(r, "c1", "acquired"))
	assert.Equal(t, 0, count(r, "c1", "write"), "it has noticed")
	assert.Equal(t, 1, count(r, "c2", "write"))
}

// With a wall clock that doesn't know of the suspension either, nothing helps but
// the token.
func TestS15WithClocksThatStandStill(t *testing.T) {
	schedule, work := suspended(true)
	play(t, simulation.Config{}, schedule, work, simulation.StaleWrite, simulation.TwoHolders)
	r := play(t, simulation.Config{Guard: simulation.GuardAdmits}, schedule, work, simulation.TwoHolders)
	assert.Equal(t, 1, r.Counts["the guard refused a read"])
}

// S5: the holder's wall clock is set back, or forward: the one does no harm, the
// other ends the lease too soon.
func TestS5WallClockOfTheHolderStepped(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		schedule := simulation.Schedule{{Kind: simulation.Step, Process: "c1", At: at(500 * ms), By: by}}
		r := play(t, simulation.Config{}, schedule, byName(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				c.SleepUntil(at(0))
				if lease := take(c); lease != nil {
					for c.Valid(lease) {
						update(c, lease)
						c.Sleep(time.Second)
					}
				}
			},
			"c2": func(c *simulation.Client) {
				c.SleepUntil(at(10_100 * ms))
				if lease := take(c); lease != nil {
					update(c, lease)
				}
			},
		}), none...)
		assert.Equal(t, 1, count(r, "c2", "write"))
		if by > 0 {
			assert.Equal(t, 1, count(r, "c1", "write"), "it knows no better")
		} else {
			assert.Equal(t, 10, count(r, "c1", "write"))
		}
	}
}

// S10: replies are lost, so that a lost round has set keys that it knows nothing
// of. They are deleted all the same, and the next client needn't wait for a TTL.
func TestS10RepliesLost(t *testing.T) {
	schedule := simulation.Schedule{
		{Kind: simulation.Cut, Process: "c1", Server: "C", At: at(-50 * ms), For: 500 * ms, Way: simulation.Replies},
		{Kind: simulation.Cut, Process: "c1", Server: "D", At: at(-50 * ms), For: 500 * ms, Way: simulation.Replies},
		{Kind: simulation.Cut, Process: "c1", Server: "E", At: at(-50 * ms)},
	}
	r := play(t, simulation.Config{}, schedule, byName(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			assert.Nil(t, take(c))
			c.Sleep(2 * time.Second)
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(time.Second))
			assert.NotNil(t, take(c), "what c1 left stands in the way")
		},
	}), none...)
	assert.Positive(t, r.Counts["a reply was lost"])
	assert.Equal(t, 1, r.Counts["no lease: "+quorum.ErrNoQuorum.Error()])
}

// X2: clients and instances are split, completely or in one direction. Only who
// reaches a majority gets the lock.
func TestX2Partition(t *testing.T) {
	for _, way := range []simulation.Way{simulation.Both, simulation.Requests, simulation.Replies} {
		var schedule simulation.Schedule
		for client, servers := range map[string]string{"c1": "CDE", "c2": "AB"} {
			for _, server := range servers {
				schedule = append(schedule, simulation.Fault{Kind: simulation.Cut, Process: client, Server: string(server), At: at(-50 * ms), Way: way})
			}
		}
		try := func(c *simulation.Client) {
			c.SleepUntil(at(0))
			for range 40 {
				if lease := take(c); lease != nil {
					update(c, lease)
					_ = c.Release(lease)
					return
				}
				c.Sleep(time.Duration(100+c.Pick(0, 100)) * ms)
			}
		}
		r := play(t, simulation.Config{}, schedule, byName(map[string]simulation.Workload{"c1": try, "c2": try}), none...)
		assert.Equal(t, 0, count(r, "c1", "acquired"), way)
		assert.Equal(t, 1, count(r, "c2", "acquired"), way)
	}
}
