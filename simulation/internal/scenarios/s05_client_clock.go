package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// clientClock is what the forms of S5 have in common: c1's wall clock is stepped
// while it works, a write a second, until its lease is over.
func clientClock(s Scenario, by time.Duration) Scenario {
	s.Schedule = simulation.Schedule{{Kind: simulation.Step, Process: "c1", At: at(500 * ms), By: by}}
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, 0)
			lease := take(c)
			for second := 1; lease != nil && second < 20 && c.Valid(lease); second++ {
				update(c, lease)
				until(c, time.Duration(second)*time.Second)
			}
		},
		"c2": turn(10_100*ms, 5*time.Second),
	})
	return s
}

// clientClockBack is S5.
func clientClockBack() Scenario {
	return clientClock(Scenario{
		ID:    "S5",
		Title: "The holder's wall clock is set back",
		Steps: []string{
			"0: c1 gets the lock, and writes once a second while it is valid",
			"500: c1's wall clock is set back by an hour",
			"10 100: c2 gets the lock",
		},
		Assumption: "the client's wall clock measures time",
		Breaks:     "mutual exclusion, for a client that counts by the wall clock alone: it believes in its lease for an hour",
		Helps:      "the larger of the monotonic and the wall clock's count",
		Source:     "Antirez, \"Is Redlock safe?\": the monotonic clock is what implementations should use; leandromoreira/redlock-rb #50",
		Verdicts: expect(none.reaching("c1 write", "c2 write"), "redlock", "quarantine", "monitor", "default", "token-write", "token-admit", "idempotent").
			and(none.reaching("c1 write", "c2 write"), "textbook").
			and(none.reaching("c1 write", "c2 write"), unguarded...).
			and(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "c2 write"), "wall-clock"),
	}, -time.Hour)
}

// clientClockForward is S5b.
func clientClockForward() Scenario {
	return clientClock(Scenario{
		ID:    "S5b",
		Title: "The holder's wall clock is set forward",
		Steps: []string{
			"0: c1 gets the lock, and writes once a second while it is valid",
			"500: c1's wall clock is set forward by an hour: by the larger count its lease is over",
			"10 100: c2 gets the lock",
		},
		Assumption: "the client's wall clock measures time",
		Breaks:     "nothing: c1 gives its lease up sooner than it need",
		Helps:      "that is the price of the larger of two counts",
		Source:     "Antirez, \"Is Redlock safe?\"",
		Verdicts:   expect(none.reaching("c1 write", "c2 write"), group([]string{"redlock", "quarantine", "monitor", "default"}, fenced)...),
	}, time.Hour)
}
