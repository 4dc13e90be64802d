package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func pauseAfterCheck() []Scenario {
	return []Scenario{{
		ID:    "S1",
		Title: "The holder is paused between its check of the lease and its write",
		Steps: []string{
			"0: c1 acquires the lock, valid to 9 898 at most, reads, checks its lease, and is paused just before its write",
			"10 100: the keys have expired; c2 acquires the lock, reads and writes",
			"12 000: c1 continues and sends its write",
		},
		Assumption: "a holder notices the end of its validity before it acts",
		Breaks:     "mutual exclusion; c2's update is lost",
		Helps:      "a fencing token that the resource checks. Another check of the lease only makes the gap smaller; nothing closes it",
		Source:     "Kleppmann, \"Protecting a resource with a lock\" and its first figure; he reports that it happened in HBase",
		Schedule:   simulation.Schedule{pausedWrite(12 * time.Second)},
		Scripts:    clients(turn(0, 0), turn(10_100*ms, 5*time.Second)),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "c2 write"), unguarded, voting, "repeats-only").
			and(none.reaching("the guard refused a write", "c2 write").without("c1 write"), fenced).
			and(none.reaching("c2 refused", "c1 write").without("c2 acquired"), "setnx"),
		Reached: []string{"a process was paused"},
	}}
}
