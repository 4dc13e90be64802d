package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// pauseAfterCheck is S1: nothing can close the gap between looking at a lease and
// acting on it.
func pauseAfterCheck() Scenario {
	return Scenario{
		ID:    "S1",
		Title: "The holder is paused between its look at the lease and its write",
		Steps: []string{
			"0: c1 gets the lock, valid to 9 898 at most, reads, looks at its lease, and is paused just before its write",
			"10 100: the keys have expired; c2 gets the lock, reads and writes",
			"12 000: c1 runs again, and its write goes out",
		},
		Assumption: "a holder notices the end of its validity before it acts",
		Breaks:     "mutual exclusion; c2's update is lost",
		Helps:      "a fencing token that the resource checks; looking again only makes the gap smaller",
		Source:     "Kleppmann, \"Protecting a resource with a lock\" and its first figure; he names HBase as a case in life",
		Schedule:   simulation.Schedule{{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}},
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 0),
			"c2": turn(10_100*ms, 5*time.Second),
		}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "c2 write"),
			group(unguarded, voting, []string{"repeats-only"})...).
			and(none.reaching("the guard refused a write", "c2 write").without("c1 write"), fenced...).
			and(none.reaching("c2 refused", "c1 write").without("c2 acquired"), "setnx"),
		Reached: []string{"a process was paused"},
	}
}
