package designs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// at counts from one second on.
func at(d time.Duration) time.Duration { return time.Second + d }

// S16: the holder crashes after its first command, between SETNX and EXPIRE.
func TestCrashAfterTheFirstCommand(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Crash, Process: "c1", Nth: 2}}
	work := parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			update(c, take(c))
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(12 * time.Second))
			if lease := take(c); lease != nil {
				assert.NoError(t, c.Release(lease))
			}
		},
	})
	cfg := simulation.Config{Witness: true}
	r := play(t, "setnx-expire", cfg, schedule, work, record.NeverFree)
	assert.Equal(t, 0, did(r, "c2", "acquired"))
	for _, name := range []string{"setpx-del", "setpx-cad", "tair-cas"} {
		r = play(t, name, cfg, schedule, work, none...)
		assert.Equal(t, 1, did(r, "c2", "acquired"))
	}
}

// S17: a holder releases late, and deletes the next holder's lock.
func TestLateRelease(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(5 * time.Second), For: 8 * time.Second}}
	work := parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			assert.NotNil(t, lease)
			c.SleepUntil(at(6 * time.Second))
			_ = c.Release(lease) // late, and it may say so
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(10_100 * ms))
			assert.NotNil(t, take(c), "c1's time is over")
			c.SleepUntil(at(15 * time.Second))
		},
		"c3": func(c *simulation.Client) {
			c.SleepUntil(at(14 * time.Second))
			take(c)
		},
	})
	cfg := simulation.Config{Processes: 3}
	for _, name := range []string{"setnx-expire", "setpx-del"} {
		r := play(t, name, cfg, schedule, work, record.TwoHolders)
		assert.Equal(t, 1, did(r, "c3", "acquired"), name)
	}
	for _, name := range []string{"setpx-cad", "tair-cas", "textbook", "redlock", "default"} {
		r := play(t, name, cfg, schedule, work, none...)
		assert.Equal(t, 0, did(r, "c3", "acquired"), name)
	}
}

// pauseBeforeTheCheck is S3: the replies arrive while the process is paused.
func pauseBeforeTheCheck() (simulation.Config, simulation.Schedule, simulation.Workload) {
	cfg := simulation.Config{LatencyMin: ms, LatencyMax: ms}
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(1500 * time.Microsecond), For: 12 * time.Second}}
	return cfg, schedule, parts(map[string]simulation.Workload{
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

// S3 on one server: the client has not read the clock before the SET.
func TestPauseBeforeTheCheckOnOneServer(t *testing.T) {
	cfg, schedule, work := pauseBeforeTheCheck()
	for _, name := range []string{"setpx-del", "setpx-cad", "tair-cas"} {
		play(t, name, cfg, schedule, work, record.TwoHolders)
	}
	for _, name := range []string{"redlock", "textbook"} {
		r := play(t, name, cfg, schedule, work, none...)
		assert.Equal(t, 1, did(r, "c2", "write"))
	}
}

// S7, S4: the only server restarts empty, or its clock jumps.
func TestOneServerForgets(t *testing.T) {
	for _, fault := range []fault.Fault{
		{Kind: fault.Restart, Server: "A", At: at(time.Second), For: 100 * ms},
		{Kind: fault.Step, Server: "A", At: at(time.Second), By: 15 * time.Second},
	} {
		work := parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				c.SleepUntil(at(0))
				assert.NotNil(t, take(c))
				c.SleepUntil(at(5 * time.Second))
			},
			"c2": func(c *simulation.Client) {
				c.SleepUntil(at(500 * ms))
				take(c) // so that its connection is to the server's first run
				c.SleepUntil(at(2 * time.Second))
				take(c)
				c.Sleep(100 * ms)
				take(c)
			},
		})
		for _, name := range []string{"setpx-cad", "tair-cas"} {
			r := play(t, name, simulation.Config{}, simulation.Schedule{fault}, work, record.TwoHolders)
			assert.Equal(t, 1, did(r, "c2", "acquired"), name)
		}
		r := play(t, "redlock", simulation.Config{}, simulation.Schedule{fault}, work, none...)
		assert.Equal(t, 0, did(r, "c2", "acquired"))
	}
}

// The server's clock is ahead of the clients', and always was.
func TestServerClockIsAhead(t *testing.T) {
	schedule := simulation.Schedule{{Kind: fault.Step, Server: "A", By: 15 * time.Second}}
	work := parts(map[string]simulation.Workload{
		"c1": hold(at(0), at(5*time.Second)),
		"c2": hold(at(time.Second), at(2*time.Second)),
	})
	play(t, "expire-at", simulation.Config{}, schedule, work, record.TwoHolders)
	play(t, "setpx-cad", simulation.Config{}, schedule, work, none...)
}
