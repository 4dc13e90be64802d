package scenarios

import (
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/record"
)

func holderCrashes() []Scenario {
	return []Scenario{{
		ID:    "X1",
		Title: "The holder dies",
		Steps: []string{
			"0: c1 acquires the lock, and dies before it writes",
			"100 to 10 200: c2 asks every 100, and acquires the lock when the keys have expired",
		},
		Helps:    "a lease: the lock is blocked for a TTL, no longer",
		Source:   "the Redis document, \"Safety and Liveness Guarantees\", liveness property A",
		Base:     simulation.Config{Witness: true},
		Schedule: simulation.Schedule{crashedWrite},
		Scripts:  clients(turn(0, 0), keepTrying(100*ms, 102, 100*ms)),
		Free:     []Free{{Process: "c2", After: 9_900 * ms, By: 10_400 * ms}},
		Verdicts: expect(none.reaching("c2 write"), unguarded, voting, fenced).
			and(breaks(record.NoProgress, record.NeverFree), "setnx"),
		Reached: []string{"a process crashed", "c1 acquired"},
	}}
}
