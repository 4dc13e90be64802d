package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func blindDelete() []Scenario {
	// c1 releases after so long; c2 and c3 ask after the end of its lease.
	threeClients := func(hold time.Duration) []Script {
		return clients(turn(0, hold), twoUpdatesAndRelease(10_100*ms, 11*time.Second), turn(10_600*ms, 200*ms))
	}
	broken := breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c3 acquired")
	return []Scenario{{
		ID:    "S17",
		Title: "A late holder deletes another client's lock",
		Steps: []string{
			"0: c1 acquires the lock, and works for longer than it lasts",
			"10 100: c2 acquires the lock",
			"10 500: c1 is done, and releases: a plain DEL deletes c2's key",
			"10 600: c3 asks for the lock",
			"11 000: c2 continues under its lease",
		},
		Assumption: "a client that releases still holds the lock",
		Breaks:     "mutual exclusion between c2 and c3, which both did everything right",
		Helps:      "compare-and-delete, with a value that only this lease has",
		Source:     "the Redis document, \"Correct Implementation with a Single Instance\"; lukas-krecan/ShedLock #2583, abelaska/jedis-lock #2",
		Base:       simulation.Config{Processes: 3},
		Scripts:    threeClients(10_490 * ms),
		Verdicts: expect(none.reaching("c3 refused"), unguarded, "redlock quarantine monitor", complete).
			and(broken, "setnx-expire setpx-del same-value"),
		Reached: []string{"c1 released", "c2 acquired"},
	}, {
		ID:    "S17b",
		Title: "A pause between the GET and the DEL of a release",
		Steps: []string{
			"0: c1 acquires the lock",
			"9 500: c1 releases: GET says that the key is still its own, and c1 is paused before it sends DEL",
			"10 100: the key has expired; c2 acquires the lock",
			"10 500: c1 continues: DEL deletes c2's key",
			"10 600: c3 asks for the lock",
			"11 000: c2 continues under its lease",
		},
		Assumption: "the answer of GET still holds at DEL",
		Breaks:     "mutual exclusion between c2 and c3, which both did everything right",
		Helps:      "the comparison and the delete in one step: a script, DELEX, CAD",
		Source:     "the Redis document, \"Correct Implementation with a Single Instance\"; redis/redis-py pull request 1031, eclipse-leshan/leshan pull request 837",
		Base:       simulation.Config{Processes: 3},
		Schedule:   simulation.Schedule{{Kind: simulation.Pause, Process: "c1", At: at(9_490 * ms), Nth: 2, For: time.Second}},
		Scripts:    threeClients(9_490 * ms),
		Verdicts: expect(broken.reaching("a process was paused"), "get-then-del").
			and(none.reaching("c3 refused"), "setpx-cad tair-cas redlock default token-admit"),
		Reached: []string{"c1 released", "c2 acquired"},
	}}
}
