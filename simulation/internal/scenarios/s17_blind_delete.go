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
		Work:       threeInTurn(10_490 * ms),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c3 acquired"), "setnx-expire", "setpx-del", "same-value").
			and(none.reaching("c3 refused"), "setpx-cad", "tair-cas", "replica-async", "wait-some", "semisync").
			and(none.reaching("c3 refused"), group([]string{"redlock", "quarantine", "monitor", "default"}, fenced)...),
		Reached: []string{"c1 released", "c2 acquired"},
	}
}

// threeInTurn is three clients: c1 holds the lock for so long, c2 and c3 ask after its
// end.
func threeInTurn(hold time.Duration) simulation.Workload {
	return parts(map[string]simulation.Workload{
		"c1": turn(0, hold),
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
	})
}

// deleteAfterGet is S17b: the comparison is there, but not in the same step.
func deleteAfterGet() Scenario {
	s := blindDelete()
	s.ID, s.Title = "S17b", "A pause between the GET and the DEL of a release"
	s.Steps = []string{
		"0: c1 gets the lock",
		"9 500: c1 releases: GET says that the key is still its own, and c1 is paused before it sends DEL",
		"10 100: the key has expired; c2 gets the lock",
		"10 500: c1 runs again: DEL removes c2's key",
		"10 600: c3 asks for the lock",
		"11 000: c2 goes on under its lease",
	}
	s.Assumption = "what GET has answered is so until DEL"
	s.Helps = "the comparison and the delete in one step: a script, DELEX, CAD"
	s.Source = "the Redis document, \"Correct Implementation with a Single Instance\"; redis/redis-py pull request 1031, eclipse-leshan/leshan pull request 837"
	s.Schedule = simulation.Schedule{{Kind: simulation.Pause, Process: "c1", At: at(9_490 * ms), Nth: 2, For: time.Second}}
	s.Work = threeInTurn(9_490 * ms)
	s.Verdicts = expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("a process was paused", "c3 acquired"), "get-then-del").
		and(none.reaching("c3 refused"), "setpx-cad", "tair-cas", "redlock", "default", "token-admit")
	return s
}
