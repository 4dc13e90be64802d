package designs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// drama is a run that shows a flaw.
type drama struct {
	name     string
	cfg      simulation.Config
	schedule simulation.Schedule
	work     simulation.Workload
}

// cut loses all messages between a process and servers from a moment on.
func cut(process, servers string, from, length time.Duration, way fault.Way) simulation.Schedule {
	var s simulation.Schedule
	for _, server := range servers {
		s = append(s, fault.Fault{Kind: fault.Cut, Process: process, Server: string(server), At: from, For: length, Way: way})
	}
	return s
}

// hold acquires the lock, if it can, and holds it until a moment.
func hold(from, until time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		c.SleepUntil(from)
		if lease := take(c); lease != nil {
			c.SleepUntil(until)
			_ = c.Release(lease)
		}
	}
}

// S3: the replies arrive while the process is paused.
func lateAnswers() drama {
	cfg, schedule, work := pauseBeforeTheCheck()
	return drama{"late answers", cfg, schedule, work}
}

// S9m: c1's first try fails because c2 has A, B and C. The deletes of its rollback are late
// there, and arrive after its second try.
func lateRollback() drama {
	cfg := simulation.Config{LatencyMin: ms, LatencyMax: ms, Processes: 3}
	schedule := cut("c2", "DE", 0, 2*time.Second, fault.Both)
	for _, server := range []string{"A", "B", "C"} {
		// The rollback alone: SETs are sent at 0, answered at 2 ms.
		schedule = append(schedule, fault.Fault{Kind: fault.Delay, Process: "c1", Server: server, Way: fault.Requests, At: at(1 * ms), For: 50 * ms, By: 2 * time.Second})
	}
	return drama{"late rollback", cfg, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			if lease, err := c.Acquire(key); err == nil {
				c.SleepUntil(at(6 * time.Second))
				_ = c.Release(lease)
			}
		},
		"c2": hold(at(-100*ms), at(20*ms)),
		"c3": hold(at(3*time.Second), at(5*time.Second)),
	})}
}

// S10: E is down, and the replies of C and D get lost: a lost round has set keys without
// knowing it.
func lostAnswers() drama {
	schedule := append(cut("c1", "CD", at(-50*ms), 500*ms, fault.Replies), cut(fault.Any, "E", at(-50*ms), time.Hour, fault.Both)...)
	return drama{"lost answers", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": hold(at(0), at(0)),
		"c2": hold(at(time.Second), at(2*time.Second)),
	})}
}

// The same with replies that get lost only briefly: a repeated request is refused.
func answersLostForAMoment() drama {
	schedule := append(cut("c1", "CD", at(-1*ms), 10*ms, fault.Replies), cut(fault.Any, "E", at(-50*ms), time.Hour, fault.Both)...)
	return drama{"answers lost for a moment", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			for range 2 { // so that no server has to be identified while answers get lost
				_, _ = c.Coordinator.Verify(c.Context())
			}
			hold(at(0), at(0))(c)
		},
		"c2": hold(at(time.Second), at(2*time.Second)),
	})}
}

// S9: SETs to C, D and E arrive after their round was rolled back.
func lateSets() drama {
	var schedule simulation.Schedule
	for _, server := range []string{"C", "D", "E"} {
		schedule = append(schedule, fault.Fault{Kind: fault.Delay, Process: "c1", Server: server, Op: "acquire", Nth: 1, By: 800 * ms})
	}
	return drama{"late SETs", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			take(c) // in vain
			c.SleepUntil(at(3 * time.Second))
		},
		"c2": hold(at(2*time.Second), at(2500*ms)),
	})}
}

// S27: E hangs for longer than a TTL.
func hangingServer() drama {
	schedule := simulation.Schedule{{Kind: fault.Hang, Server: "E", At: at(-50 * ms), For: 30 * time.Second}}
	return drama{"hanging server", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			if lease := take(c); lease != nil {
				update(c, lease)
				_ = c.Release(lease)
			}
		},
	})}
}

// X2: c1 reaches A and B, c2 the others.
func partition() drama {
	schedule := append(cut("c1", "CDE", at(-50*ms), time.Hour, fault.Both), cut("c2", "AB", at(-50*ms), time.Hour, fault.Both)...)
	return drama{"partition", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": hold(at(0), at(5*time.Second)),
		"c2": hold(at(100*ms), at(5*time.Second)),
	})}
}

// S5: the holder's wall clock is set back.
func clockSetBack() drama {
	schedule := simulation.Schedule{{Kind: fault.Step, Process: "c1", At: at(5 * time.Second), By: -time.Hour}}
	return drama{"clock set back", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			for range 12 {
				c.Sleep(time.Second)
				if c.Valid(lease) {
					update(c, lease)
				}
			}
		},
		"c2": hold(at(10_100*ms), at(15*time.Second)),
	})}
}

// S6: the holder's clocks are slower than the servers', by half a percent.
func slowClock() drama {
	schedule := simulation.Schedule{{Kind: fault.Rate, Process: "c1", PPM: -5000}}
	cfg := simulation.Config{LatencyMin: 100 * time.Microsecond, LatencyMax: 200 * time.Microsecond}
	return drama{"slow clock", cfg, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(time.Second)
			take(c)
			c.Sleep(20 * time.Second)
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(10 * time.Second)
			for range 500 {
				if take(c) != nil {
					return
				}
				c.Sleep(5 * ms)
			}
		},
	})}
}

// S11a: c1 has read, and is paused beyond its TTL; c2 acquires the lock, writes and releases
// it; c1 extends and writes.
func extensionAfterTheEnd() drama {
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(time.Second), For: 10_500 * ms}}
	return drama{"extension after the end", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			value, version, err := c.Read(lease)
			c.SleepUntil(at(2 * time.Second))
			if err == nil && c.Extend(lease) == nil && c.Valid(lease) {
				_ = c.Write(lease, value+1, version)
			}
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(10_100 * ms))
			lease := take(c)
			update(c, lease)
			_ = c.Release(lease)
		},
	})}
}

// S11b: the replies to an extension arrive while the process is paused.
func lateExtension() drama {
	cfg := simulation.Config{LatencyMin: ms, LatencyMax: ms}
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(5*time.Second + 1500*time.Microsecond), For: 4 * time.Second}}
	return drama{"late extension", cfg, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			c.SleepUntil(at(5 * time.Second))
			_ = c.Extend(lease)
			for range 5 {
				if c.Valid(lease) {
					update(c, lease)
				}
				c.Sleep(time.Second)
			}
		},
		"c2": hold(at(15_100*ms), at(17*time.Second)),
	})}
}

// S11c: an extension that reaches only A and B.
func minorityExtension() drama {
	schedule := cut("c1", "CDE", at(7*time.Second), 2*time.Second, fault.Both)
	return drama{"minority extension", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			c.SleepUntil(at(8 * time.Second))
			_ = c.Extend(lease)
			c.SleepUntil(at(12 * time.Second))
			if c.Valid(lease) {
				update(c, lease)
			}
		},
		"c2": hold(at(11*time.Second), at(13*time.Second)),
	})}
}

// S11e: an extension whose replies from C, D and E get lost.
func unansweredExtension() drama {
	schedule := cut("c1", "CDE", at(2*time.Second), time.Second, fault.Replies)
	return drama{"unanswered extension", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			lease := take(c)
			c.SleepUntil(at(2500 * ms))
			_ = c.Extend(lease)
			c.SleepUntil(at(5 * time.Second))
			if c.Valid(lease) {
				update(c, lease)
			}
		},
		"c2": hold(at(4*time.Second), at(6*time.Second)),
	})}
}

// S4, S7 and S8: c1 has A, B and C, a fault hits C, and c2 asks.
func voteLost(name string, hit fault.Fault) drama {
	schedule := append(cut("c1", "DE", at(-50*ms), time.Hour, fault.Both), hit)
	return drama{name, simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": hold(at(0), at(5*time.Second)),
		"c2": func(c *simulation.Client) {
			if c.Coordinator != nil {
				// A client that verifies the servers before the fault can notice it. The second
				// round uses open connections.
				for range 2 {
					_, _ = c.Coordinator.Verify(c.Context())
				}
			}
			hold(at(300*ms), at(time.Second))(c)
		},
	})}
}

func jump() drama {
	return voteLost("clock jump", fault.Fault{Kind: fault.Step, Server: "C", At: at(150 * ms), By: 15 * time.Second})
}

func restart() drama {
	return voteLost("restart", fault.Fault{Kind: fault.Restart, Server: "C", At: at(150 * ms), For: 100 * ms})
}

// S1: a pause after the check of the lease.
func pauseAfterTheCheck() drama {
	schedule := simulation.Schedule{{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}}
	return drama{"pause after the check", simulation.Config{}, schedule, parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			c.SleepUntil(at(0))
			update(c, take(c))
		},
		"c2": func(c *simulation.Client) {
			c.SleepUntil(at(10_100 * ms))
			update(c, take(c))
			c.Sleep(5 * time.Second)
		},
	})}
}

// Each flaw shows in its run, and its cure has no violation there.
func TestFlaws(t *testing.T) {
	const (
		two      = record.TwoHolders
		overmuch = record.Overvalued
		stale    = record.StaleWrite
		lost     = record.LostUpdate
	)
	for _, test := range []struct {
		name  string
		drama drama
		want  []record.ViolationKind
		// the clients that get a lock, with the flaw and without it
		who          string
		flawed, well int
	}{
		{"textbook", lateSets(), none, "c2", 0, 1},
		{"value-reused", lateRollback(), []record.ViolationKind{two}, "c3", 1, 0},
		{"release-granted", lostAnswers(), none, "c2", 0, 1},
		{"no-timeout", hangingServer(), none, "c1", 0, 1},
		{"half-quorum", partition(), []record.ViolationKind{two, overmuch}, "c1", 1, 0},
		{"quorum-reachable", partition(), []record.ViolationKind{two, overmuch}, "c1", 1, 0},
		{"no-elapsed-check", lateAnswers(), []record.ViolationKind{two, overmuch}, "c1", 1, 0},
		{"late-start", lateAnswers(), []record.ViolationKind{two, overmuch}, "c1", 1, 0},
		{"late-start", lateExtension(), []record.ViolationKind{two, overmuch}, "c2", 1, 1},
		{"wall-clock", clockSetBack(), []record.ViolationKind{two}, "c2", 1, 1},
		{"no-drift", slowClock(), []record.ViolationKind{two, overmuch}, "c2", 1, 1},
		{"extend-sets", extensionAfterTheEnd(), []record.ViolationKind{two, stale, lost}, "c2", 1, 1},
		{"partial-extend", minorityExtension(), []record.ViolationKind{two, overmuch}, "c2", 1, 1},
		{"extend-releases", unansweredExtension(), []record.ViolationKind{two}, "c2", 1, 0},
		{"retried-set", answersLostForAMoment(), none, "c2", 0, 1},
	} {
		t.Run(test.name+" "+test.drama.name, func(t *testing.T) {
			d := test.drama
			r := play(t, test.name, d.cfg, d.schedule, d.work, test.want...)
			assert.Equal(t, test.flawed, did(r, test.who, "acquired"))
			r = play(t, design(t, test.name).Cure, d.cfg, d.schedule, d.work, none...)
			assert.Equal(t, test.well, did(r, test.who, "acquired"))
		})
	}
}

// The textbook has no flaw: it has the same results as the library with its features switched
// off.
func TestTextbookIsRedlock(t *testing.T) {
	for _, d := range []drama{
		lateAnswers(), lateRollback(), lostAnswers(), hangingServer(), partition(), clockSetBack(), slowClock(), extensionAfterTheEnd(),
		lateExtension(), minorityExtension(), unansweredExtension(), jump(), restart(), pauseAfterTheCheck(),
	} {
		t.Run(d.name, func(t *testing.T) {
			r, err := simulation.Run(0, design(t, "redlock").Configure(d.cfg), d.schedule, d.work)
			assert.NoError(t, err)
			like := play(t, "redlock", d.cfg, d.schedule, d.work, r.Kinds()...)
			same := play(t, "textbook", d.cfg, d.schedule, d.work, r.Kinds()...)
			for _, process := range []string{"c1", "c2", "c3"} {
				for _, what := range []string{"acquired", "extended", "read", "write"} {
					assert.Equal(t, did(like, process, what), did(same, process, what), "%s %s", process, what)
				}
			}
		})
	}
}
