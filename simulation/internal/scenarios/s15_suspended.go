package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// asleep is what the forms of S15 have in common.
func asleep(s Scenario, frozen bool) Scenario {
	s.Schedule = simulation.Schedule{{Kind: simulation.Suspend, Process: "c1", At: at(time.Second), For: 59 * time.Second, Frozen: frozen}}
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, 0)
			lease := take(c)
			if lease == nil {
				return
			}
			c.Sleep(1500 * ms) // on the clock that stands still; before the first extension is due
			if c.Valid(lease) {
				update(c, lease)
			}
			release(c, lease)
		},
		"c2": turn(10_100*ms, time.Second),
	})
	s.Reached = append(s.Reached, "c1 acquired", "c2 write")
	return s
}

// suspended is S15.
func suspended() Scenario {
	return asleep(Scenario{
		ID:    "S15",
		Title: "The holder's machine is suspended",
		Steps: []string{
			"0: c1 gets the lock",
			"1 000 to 60 000: c1's machine is suspended; its monotonic clock (CLOCK_MONOTONIC, which Go reads) stands still, the wall clock is right afterwards",
			"10 100: c2 gets the lock, writes, releases",
			"60 500: c1 has used a second and a half by its monotonic clock, and looks at its lease",
		},
		Assumption: "the client's monotonic clock measures time",
		Breaks:     "mutual exclusion, for a client that counts by the monotonic clock alone, as the designs on one server do here",
		Helps:      "the larger of the monotonic and the wall clock's count; on Linux also CLOCK_BOOTTIME, a monotonic clock that includes suspension, which Go's time package doesn't read",
		Source:     "clock_gettime(2), CLOCK_MONOTONIC and CLOCK_BOOTTIME; golang/go #24595 asked for CLOCK_BOOTTIME and was closed; Antirez's advice, the monotonic clock, is the wrong one here unless it is CLOCK_BOOTTIME",
		Verdicts: expect(none.without("c1 write"), group([]string{"redlock", "quarantine", "monitor", "default", "textbook", "wall-clock"}, fenced)...).
			and(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), unguarded...),
	}, false)
}

// suspendedFrozen is S15b.
func suspendedFrozen() Scenario {
	return asleep(Scenario{
		ID:    "S15b",
		Title: "The holder's machine is suspended, and no clock of it tells",
		Steps: []string{
			"0: c1 gets the lock",
			"1 000 to 60 000: c1's machine stands still, with both clocks",
			"10 100: c2 gets the lock, writes, releases",
			"60 500: c1 has used a second and a half by any of its clocks, looks at its lease, reads and writes",
		},
		Assumption: "the client has a clock that goes on",
		Breaks:     "mutual exclusion: no client can know",
		Helps:      "a fencing token: c1's read is refused",
		Source:     "Kleppmann, \"The synchrony assumptions of Redlock\"",
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), group(unguarded, voting)...).
			and(breaks(simulation.TwoHolders).reaching("the guard refused a write").without("c1 write"), "token-write").
			and(breaks(simulation.TwoHolders).reaching("the guard refused a read").without("c1 write"), "token-admit", "idempotent"),
		NoCure: "the holder believes in its lease whatever it does (two holders); what the token saves is the resource: no stale write",
	}, true)
}
