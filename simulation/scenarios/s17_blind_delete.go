package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// blindDelete is S17.
func blindDelete() Scenario {
	return Scenario{
		ID:    "S17",
		Title: "A late holder deletes another's lock",
		Steps: []string{
			"0: c1 gets the lock, and works for longer than it lasts",
			"10 100: c2 gets the lock",
			"10 500: c1 has ended, and releases: a plain DEL removes c2's key",
			"10 600: c3 asks for the lock",
			"11 000: c2 goes on under its lease",
		},
		Assumption: "who releases still holds",
		Breaks:     "mutual exclusion between c2 and c3, who both did everything right",
		Helps:      "compare-and-delete, with a value that is this lock's alone",
		Source:     "the Redis document, \"Correct Implementation with a Single Instance\"; lukas-krecan/ShedLock #2583, abelaska/jedis-lock #2",
		Base:       simulation.Config{Processes: 3},
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 10_490*ms),
			"c2": func(c *simulation.Client) {
				until(c, 10_100*ms)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 11*time.Second)
					if c.Valid(lease) {
						update(c, lease)
					}
					release(c, lease)
				}
			},
			"c3": turn(10_600*ms, 200*ms),
		}),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c3 acquired"), "setnx-expire", "setpx-del").
			and(none.reaching("c3 refused"), "setpx-cad", "tair-cas", "replica-async", "wait-some", "semisync").
			and(none.reaching("c3 refused"), group([]string{"redlock", "quarantine", "monitor", "default"}, fenced)...),
		Reached: []string{"c1 released", "c2 acquired"},
	}
}
