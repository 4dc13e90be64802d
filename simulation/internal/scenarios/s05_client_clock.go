package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// clientClock steps c1's wall clock while it writes once a second, until its lease
// expires.
func clientClock(s Scenario, by time.Duration) Scenario {
	s.Schedule = simulation.Schedule{{Kind: simulation.Step, Process: "c1", At: at(500 * ms), By: by}}
	c1 := Script{until(0), acquire}
	for second := range time.Duration(19) {
		c1 = append(c1, check, update, until((second+1)*time.Second))
	}
	s.Scripts = clients(c1, turn(10_100*ms, 5*time.Second))
	s.Assumption = "the client's wall clock measures time"
	return s
}

func clientClocks() []Scenario {
	bothWrite := none.reaching("c1 write", "c2 write")
	return []Scenario{clientClock(Scenario{
		ID:    "S5",
		Title: "The holder's wall clock is set back",
		Steps: []string{
			"0: c1 acquires the lock, and writes once a second while it is valid",
			"500: c1's wall clock is set back by an hour",
			"10 100: c2 acquires the lock",
		},
		Breaks: "mutual exclusion, for a client that uses the wall clock alone: it considers its lease valid for an hour",
		Helps:  "the larger of the elapsed times by the monotonic and by the wall clock",
		Source: "Antirez, \"Is Redlock safe?\": the monotonic clock is what implementations should use; leandromoreira/redlock-rb #50",
		Verdicts: expect(bothWrite, "redlock quarantine monitor textbook", complete, unguarded).
			and(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "c2 write"), "wall-clock"),
	}, -time.Hour), clientClock(Scenario{
		ID:    "S5b",
		Title: "The holder's wall clock is set forward",
		Steps: []string{
			"0: c1 acquires the lock, and writes once a second while it is valid",
			"500: c1's wall clock is set forward by an hour: by the larger elapsed time its lease has expired",
			"10 100: c2 acquires the lock",
		},
		Breaks:   "nothing: c1 gives its lease up earlier than necessary",
		Helps:    "this is the price of using the larger elapsed time",
		Source:   "Antirez, \"Is Redlock safe?\"",
		Verdicts: expect(bothWrite, "redlock quarantine monitor", complete),
	}, time.Hour)}
}
