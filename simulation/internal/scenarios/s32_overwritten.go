package scenarios

func overwritten() []Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S32",
		Title: "A second client asks, and nothing else happens",
		Steps: []string{
			"0: c1 acquires the lock",
			"200: c2 asks for it. SETEX overwrites c1's key, and answers OK",
			"5 000: c1 continues under its lease",
		},
		Assumption: "a command that sets a key with an expiry refuses if the key exists",
		Breaks:     "mutual exclusion, always: this is no lock",
		Helps:      "SET NX EX",
		Source:     "the Redis command reference, SETEX: \"equivalent to SET key value EX seconds\"; redis/redis #5231",
		Verdicts: expect(overlap, "setex").
			and(refusedSecond, "setnx", unguarded, voting, fenced),
	})
	s.Schedule = nil
	return []Scenario{s}
}
