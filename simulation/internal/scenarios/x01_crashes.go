package scenarios

import (
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
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
		Assumption: "none",
		Breaks:     "nothing: the lock is blocked for a TTL, no longer; without an expiry it is blocked forever",
		Helps:      "a lease",
		Source:     "the Redis document, \"Safety and Liveness Guarantees\", liveness property A",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{crashedWrite},
		Scripts:    clients(turn(0, 0), keepTrying(100*ms, 102, 100*ms)),
		Free:       []Free{{Process: "c2", After: 9_900 * ms, By: 10_400 * ms}},
		Verdicts: expect(none.reaching("c2 write"), unguarded, voting, fenced).
			and(breaks(record.NoProgress, record.NeverFree), "setnx"),
		Reached: []string{"a process crashed", "c1 acquired", "c2 refused"},
	}}
}

func turnsCrash() []Scenario {
	// The goroutines of a client take turns of a few milliseconds.
	goroutines := func(n, turns int) Script {
		one := slices.Repeat(Script{await, update, sleep(2 * ms), release}, turns)
		return Script{parallel(n, append(Script{until(0)}, one...))}
	}
	return []Scenario{{
		ID:       "X5",
		Title:    "A process dies while its goroutines take turns with the lock",
		Unplayed: "a client of the box does one thing at a time",
		Steps: []string{
			"0: four goroutines of c1 and two of c2 acquire the lock again and again, for a few milliseconds",
			"each process has a turn in a row for each of its waiting goroutines, each with a release and an acquisition",
			"in its 12th turn c1 crashes, with the lock",
			"10 s later c1's keys have expired; c2 continues, with larger tokens than any of c1's",
		},
		Assumption: "a process does not crash",
		Breaks:     "nothing: a crashed holder's key expires, whichever goroutine had the lock",
		Helps:      "a lease, and a value for each turn",
		Source:     "this list",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "write", Nth: 12}},
		Scripts:    clients(goroutines(4, 100), goroutines(2, 200)),
		Free:       []Free{{Process: "c2", After: 1_000 * ms, By: 11_200 * ms}},
		Verdicts:   expect(none.reaching("c2 write"), complete),
		Reached:    []string{"a process crashed", "c1 acquired", "c2 acquired"},
	}}
}
