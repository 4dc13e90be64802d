package scenarios

import "github.com/redquorum/redlock/simulation"

// serverTwice is S13.
func serverTwice() Scenario {
	return Scenario{
		ID:    "S13",
		Title: "One server is in the list twice",
		Steps: []string{
			"before: the list is A, B, C, D and A again, by another name and with another database",
			"0: c1 gets the lock on A, B, A again and C, one more than it needs; D can't be reached by it",
			"50: A crashes; 150: it is back, empty: with one crash two votes are lost",
			"200: c2 gets the lock on A, A again and D",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "servers fail independently",
		Breaks:     "mutual exclusion, by a failure that four votes of five servers survive (S13b)",
		Helps:      "comparing run ids: a server has one vote, by whatever name",
		Source:     "redsync accepts [A, A, B] (measured); redlock-universal tests with five databases of one server (read)",
		Base:       simulation.Config{Servers: 4, Aliases: []simulation.Alias{{Name: "again", Server: "A", Database: 1}}},
		Schedule: append(cut(-50*ms, 0, "D"),
			simulation.Fault{Kind: simulation.Restart, Server: "A", At: at(50 * ms), For: 100 * ms}),
		Work: twoAfterAnother(),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), "redlock").
			and(none.reaching("c1 write", "c2 refused", "a server lost acknowledged writes").without("c2 acquired"), group([]string{"quarantine"}, watching, fenced)...),
	}
}

// serversApart is S13b, the same with five servers.
func serversApart() Scenario {
	return Scenario{
		ID:    "S13b",
		Title: "One of five servers crashes under a lease that is on four",
		Steps: []string{
			"0: c1 gets the lock on A, B, C and E; D can't be reached by it",
			"50: A crashes; 150: it is back, empty",
			"200: c2 gets A and D, and is refused by the others",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "servers fail independently, and here they do",
		Breaks:     "nothing: a lease on four survives the loss of one",
		Helps:      "one vote more than a quorum",
		Source:     "as S13",
		Schedule: append(cut(-50*ms, 0, "D"),
			simulation.Fault{Kind: simulation.Restart, Server: "A", At: at(50 * ms), For: 100 * ms}),
		Work:     twoAfterAnother(),
		Verdicts: expect(none.reaching("c1 write", "c2 refused").without("c2 acquired"), group(voting, fenced)...),
	}
}

// twoAfterAnother is oneVoteLost's work without its faults.
func twoAfterAnother() simulation.Workload {
	return oneVoteLost(Scenario{}, simulation.Fault{}).Work
}
