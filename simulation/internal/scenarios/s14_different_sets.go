package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func differentSets() []Scenario {
	c1, c2 := turn(0, 5*time.Second), turn(200*ms, time.Second)
	return []Scenario{{
		// A server list was rolled out to some of the clients.
		ID:    "S14",
		Title: "Two clients have different lists of servers",
		Steps: []string{
			"-500: c2, whose list is A to E, acquires and releases the lock, as every client did before",
			"0: c1, whose list is A, B and C, acquires the lock on A and B; it can't reach C",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: "all clients agree on the servers",
		Breaks:     "mutual exclusion: two of three and three of five have no server in common",
		Helps:      "a fingerprint of the set (name, version, N, Q and MaxTTL, but not the servers) beside each key's counter; a list is changed one server at a time, with MaxTTL between",
		Source:     "the Redis document doesn't mention it; peers that take a list of pools (redsync, node-redlock, RedLock.net) can't notice",
		Schedule:   cut(-50*ms, 0, "C"),
		Scripts:    clients(c1, append(Script{attempt(turn(-500*ms, 0)...)}, c2...)),
		Verdicts: expect(breaks(simulation.TwoHolders).reaching("c1 acquired"), "sets-differ").
			and(none.reaching("c1 refused").without("c1 acquired"), "sets-checked"),
		Reached: []string{"c2 acquired"},
	}, {
		ID:    "S14b",
		Title: "A client takes the majority of the servers that it can reach",
		Steps: []string{
			"before: c1 is cut off from C, D and E, c2 from A and B",
			"0: c1 gets A and B, two of the two that it reaches",
			"200: c2 gets C, D and E, three of the three that it reaches",
		},
		Assumption: "all clients agree on the number of servers",
		Breaks:     "mutual exclusion, in each partition",
		Helps:      "the quorum follows from the list, whichever servers answer",
		Source:     "the Redis document, \"The Redlock Algorithm\", step 4: a majority of N",
		Schedule:   append(cut(-50*ms, 0, "CDE"), cutC2("AB")...),
		Scripts:    clients(c1, c2),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired"), "quorum-reachable half-quorum").
			and(none.reaching("c1 refused"), voting, fenced, "textbook"),
		Reached: []string{"c2 acquired"},
	}, {
		// What a fingerprint can't know.
		ID:    "S14c",
		Title: "Two clients have different lists of servers, and the lock is new",
		Steps: []string{
			"0: c1, whose list is A, B and C, acquires the lock on A and B; it can't reach C",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: "all clients agree on the servers",
		Breaks:     "mutual exclusion: two of three and three of five have no server in common",
		Helps:      "changing a list one server at a time, with MaxTTL between; a fingerprint is found only where a client has left one",
		Source:     "the Redis document doesn't mention it; peers that take a list of pools (redsync, node-redlock, RedLock.net) can't notice",
		Schedule:   cut(-50*ms, 0, "C"),
		Scripts:    clients(c1, c2),
		Verdicts:   expect(breaks(simulation.TwoHolders).reaching("c1 acquired"), "sets-differ sets-checked"),
		Reached:    []string{"c2 acquired"},
		NoCure:     "two quorums that share no server share no memory: the clients have no way to discover each other",
	}}
}
