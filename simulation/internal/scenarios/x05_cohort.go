package scenarios

import (
	"github.com/redquorum/redlock/simulation"
)

// cohortCrashes is X5.
func cohortCrashes() Scenario {
	return Scenario{
		ID:    "X5",
		Title: "A process dies while its goroutines pass the lock on among themselves",
		Steps: []string{
			"0: four goroutines of c1 and two of c2 want the lock again and again, for moments",
			"from then on each process has a turn or two in a row for each of its goroutines that wait, under one value, with tokens that were reserved with the first",
			"in its 12th turn c1 crashes, and the lock and some of its tokens are with it",
			"10 s later what c1 held has run out; c2 goes on, with larger tokens than any of c1's",
		},
		Assumption: "a process lives",
		Breaks:     "nothing: a crashed holder's key runs out, whichever goroutine had the lock, and tokens that nobody was given are nobody's",
		Helps:      "a round is settled with the last of the tokens that it takes, and a pass adds no time",
		Source:     "this list, from what Config.Cohorts says",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: simulation.Crash, Process: "c1", Op: "write", Nth: 12}},
		Work: parts(map[string]simulation.Workload{
			"c1": crew(0, 4, 100),
			"c2": crew(0, 2, 200),
		}),
		Free:     []Free{{Process: "c2", After: 1_000 * ms, By: 11_200 * ms}},
		Verdicts: expect(none.reaching("c2 write"), passing...),
		Reached:  []string{"a lease was handed to a local waiter", "a process crashed"},
	}
}

// passing are the designs whose goroutines follow each other without a round.
var passing = group([]string{"default"}, fenced)
