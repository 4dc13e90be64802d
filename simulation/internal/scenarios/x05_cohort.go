package scenarios

import (
	"slices"

	"github.com/redquorum/redlock/simulation"
)

func cohortCrashes() []Scenario {
	// The goroutines of a client take turns of a few milliseconds.
	goroutines := func(n, turns int) Script {
		one := slices.Repeat(Script{await, update, sleep(2 * ms), release}, turns)
		return Script{parallel(n, append(Script{until(0)}, one...))}
	}
	return []Scenario{{
		ID:    "X5",
		Title: "A process dies while its goroutines pass the lock on among themselves",
		Steps: []string{
			"0: four goroutines of c1 and two of c2 acquire the lock again and again, for a few milliseconds",
			"each process has a turn or two in a row for each of its waiting goroutines, under one value, with tokens that were reserved with the first",
			"in its 12th turn c1 crashes, with the lock and some reserved tokens",
			"10 s later c1's keys have expired; c2 continues, with larger tokens than any of c1's",
		},
		Assumption: "a process does not crash",
		Breaks:     "nothing: a crashed holder's key expires, whichever goroutine had the lock, and unused tokens are never handed out",
		Helps:      "a round is decided with the last of the tokens that it reserves, and a hand-off adds no time",
		Source:     "this list, from what Config.Cohorts says",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: simulation.Crash, Process: "c1", Op: "write", Nth: 12}},
		Scripts:    clients(goroutines(4, 100), goroutines(2, 200)),
		Free:       []Free{{Process: "c2", After: 1_000 * ms, By: 11_200 * ms}},
		Verdicts:   expect(none.reaching("c2 write"), complete),
		Reached:    []string{"a lease was handed to a local waiter", "a process crashed"},
	}}
}
