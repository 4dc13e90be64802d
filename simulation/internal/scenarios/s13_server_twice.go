package scenarios

import "github.com/redquorum/redlock/simulation"

func serverTwice() []Scenario {
	// c1 does not reach D, and A crashes.
	lost := func(s Scenario) Scenario {
		s = oneVoteLost(s)
		s.Schedule, s.Alone = append(cut(-50*ms, 0, "D"), each("A", crash(simulation.KeepNothing))...), nil
		return s
	}
	return []Scenario{lost(Scenario{
		ID:    "S13",
		Title: "One server is in the list twice",
		Steps: []string{
			"before: the list is A, B, C, D and A again, by another name and with another database",
			"0: c1 acquires the lock on A, B, A again and C, one more than it needs; it can't reach D",
			"50: A crashes; 150: it is back, empty: one crash loses two votes",
			"200: c2 acquires the lock on A, A again and D",
			"5 000: c1 continues under its lease",
		},
		Assumption: "servers fail independently",
		Breaks:     "mutual exclusion, by a failure that four votes of five servers survive (S13b)",
		Helps:      "comparing run IDs: a server has one vote, under whatever name",
		Source:     "redsync accepts [A, A, B] (measured); redlock-universal tests with five databases of one server (read)",
		Base:       simulation.Config{Servers: 4, Aliases: []simulation.Alias{{Name: "again", Server: "A", Database: 1}}},
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), "redlock").
			and(none.reaching("c1 write", "c2 refused", "a server lost acknowledged writes").without("c2 acquired"), "quarantine", watching, fenced),
	}), lost(Scenario{
		ID:    "S13b",
		Title: "One of five servers crashes under a lease that is on four",
		Steps: []string{
			"0: c1 acquires the lock on A, B, C and E; it can't reach D",
			"50: A crashes; 150: it is back, empty",
			"200: c2 gets A and D, and is refused by the others",
			"5 000: c1 continues under its lease",
		},
		Assumption: "servers fail independently, and here they do",
		Breaks:     "nothing: a lease on four survives the loss of one",
		Helps:      "one vote more than a quorum",
		Source:     "as S13",
		Verdicts:   expect(none.reaching("c1 write", "c2 refused").without("c2 acquired"), voting, fenced),
	})}
}
