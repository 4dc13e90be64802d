package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// naiveMaximum is S22.
func naiveMaximum() Scenario {
	apart := func(process, server string) simulation.Fault {
		return simulation.Fault{Kind: simulation.Cut, Process: process, Server: server, At: at(-550 * ms)}
	}
	return Scenario{
		ID:    "S22",
		Title: "The token is the largest of what the servers counted",
		Steps: []string{
			"-500: of three servers c3 reaches A alone, and loses: A has counted 1",
			"0: c1, which doesn't reach C, gets A (2) and B (1): its token is 2; it reads, and is paused just before its write",
			"10 100: c2, which doesn't reach A, gets B (2) and C (1): its token is 2; it reads and writes",
			"12 000: c1's write, under a token as large as c2's",
		},
		Assumption: "two majorities share a server, so the maximum rises",
		Breaks:     "tokens are no longer unique, and c2's update is lost under the eyes of a guard: B counted both, but the maximum came from A",
		Helps:      "raising the counters of a quorum to the token before the lock counts as acquired",
		Source:     "Kleppmann, \"Making the lock safe with fencing\", says of counters on several nodes that they would go out of sync; package quorum has the proof of what mends it",
		Base:       simulation.Config{Servers: 3, Processes: 3},
		Schedule: simulation.Schedule{
			apart("c3", "B"), apart("c3", "C"), apart("c1", "C"), apart("c2", "A"),
			{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 0),
			"c2": turn(10_100*ms, 5*time.Second),
			"c3": turn(-500*ms, 0),
		}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.TokenOrder, simulation.TwoHolders).reaching("c1 write"), "token-naive-max").
			and(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), voting...).
			and(none.reaching("the guard refused a write", "a raise was needed").without("c1 write"), fenced...),
		Reached: []string{"c1 acquired", "c2 write", "c3 refused"},
	}
}
