package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// differentSets is S14: a server list that was rolled out to some of the clients.
func differentSets() Scenario {
	return Scenario{
		ID:    "S14",
		Title: "Two clients have different lists of servers",
		Steps: []string{
			"-500: c2, whose list is A to E, has and releases the lock, as every client did before",
			"0: c1, whose list is A, B and C, gets the lock on A and B; C can't be reached by it",
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "all clients agree on the servers",
		Breaks:     "mutual exclusion: two of three and three of five have no server in common",
		Helps:      "a fingerprint of the set (name, version, N, Q and MaxTTL, but not the servers) beside each key's counter; a list is changed one server at a time, with MaxTTL between",
		Source:     "the Redis document doesn't speak of it; peers that take a list of pools (redsync, node-redlock, RedLock.net) can't notice",
		Schedule:   cut(-50*ms, 0, "C"),
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 5*time.Second),
			"c2": func(c *simulation.Client) {
				turn(-500*ms, 0)(c)
				turn(200*ms, time.Second)(c)
			},
		}),
		Verdicts: expect(breaks(simulation.TwoHolders).reaching("c1 acquired"), "sets-differ").
			and(none.reaching("c1 refused").without("c1 acquired"), "sets-checked"),
		Reached: []string{"c2 acquired"},
	}
}

// setsNeverMet is S14c: what a fingerprint can't know.
func setsNeverMet() Scenario {
	s := differentSets()
	s.ID, s.Title = "S14c", "Two clients have different lists of servers, and the lock is new"
	s.Steps = s.Steps[1:]
	s.Helps = "changing a list one server at a time, with MaxTTL between; a fingerprint is found only where one was left"
	s.Work = parts(map[string]simulation.Workload{
		"c1": turn(0, 5*time.Second),
		"c2": turn(200*ms, time.Second),
	})
	s.Verdicts = expect(breaks(simulation.TwoHolders).reaching("c1 acquired"), "sets-differ", "sets-checked")
	s.NoCure = "two quorums that share no server share no memory: the clients have nothing to find each other out by"
	return s
}

// majorityOfReachable is S14b.
func majorityOfReachable() Scenario {
	return Scenario{
		ID:    "S14b",
		Title: "A client takes the majority of the servers that it can reach",
		Steps: []string{
			"before: c1 is cut from C, D and E, c2 from A and B",
			"0: c1 gets A and B, two of the two that it reaches",
			"200: c2 gets C, D and E, three of the three that it reaches",
		},
		Assumption: "all clients agree on the number of servers",
		Breaks:     "mutual exclusion, in each partition",
		Helps:      "the quorum follows from the list, whoever answers",
		Source:     "the Redis document, \"The Redlock Algorithm\", step 4: a majority of N",
		Schedule: append(cut(-50*ms, 0, "CDE"),
			simulation.Fault{Kind: simulation.Cut, Process: "c2", Server: "A", At: at(-50 * ms)},
			simulation.Fault{Kind: simulation.Cut, Process: "c2", Server: "B", At: at(-50 * ms)}),
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 5*time.Second),
			"c2": turn(200*ms, time.Second),
		}),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired"), "quorum-reachable", "half-quorum").
			and(none.reaching("c1 refused"), group(voting, fenced, []string{"textbook"})...),
		Reached: []string{"c2 acquired"},
	}
}
