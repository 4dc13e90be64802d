package mutants

// ofTokens breaks the proof that tokens rise.
func ofTokens() []Mutant {
	return []Mutant{{
		Name: "naive-maximum", Breaks: "lower counters are raised to the token",
		Edits: []Edit{
			{"quorum/round.go", "\tcase vote.Token < r.token:\n", "\tcase vote.Token < 0*r.token:\n"},
			{"quorum/round.go", "vote.Token < r.token && (r.stage == raising || r.stage == won)", "vote.Token < 0*r.token"},
		},
		Judge: scenario("S22"),
	}, {
		Name: "token-minimum", Breaks: "the token is the largest of the votes'",
		Edits: []Edit{
			{"quorum/round.go", "vote.Outcome == Granted && vote.Token <= token &&", "vote.Outcome == Granted &&"},
			{"quorum/round.go", "(agree < r.settled.Q || vote.Token > token)", "(agree < r.settled.Q || vote.Token < token)"},
			{"quorum/round.go", "first = max(first, firstOf(other))", "first = vote.Token"},
			{"quorum/round.go", "if vote.Token <= r.token && firstOf(vote) <= r.first() {", "if true {"},
		},
		Judge: scenario("S22"),
	}, {
		Name: "largest-vote-of-all", Breaks: "a server whose clock is far ahead costs its own vote and no more",
		Edits: edit("quorum/round.go", "(vote.Clock.IsZero() || vote.Token == token ||", "(true ||"),
		Judge: test("./quorum", "^TestClockHoursAhead$"),
	}, {
		Name: "first-token-of-one-vote", Breaks: "a round's reserved tokens are new on all that are settled for it",
		Edits: edit("quorum/round.go", "first = max(first, firstOf(other))", "first = firstOf(vote)"),
		Judge: test("./quorum", "^TestReservedTokensAreNewOnAQuorum$"),
	}, {
		Name: "straggler-reserved-fewer", Breaks: "an instance that reserved fewer tokens than the round has isn't settled for it",
		Edits: edit("quorum/round.go", "if vote.Token <= r.token && firstOf(vote) <= r.first() {", "if vote.Token <= r.token {"),
		Judge: test("./quorum", "^TestStragglerThatReservedFewer$"),
	}, {
		Name: "race-lost-early", Breaks: "a round that has its grants but no token goes on voting while somebody can help",
		Edits: edit("quorum/round.go", "agree+r.tally.N-voted < r.settled.Q {", "voted > 0 {"),
		Judge: test("./quorum", "^TestRoundWaitsForATokenThatSuits$"),
	}, {
		Name: "bound-beyond-the-quarantine", Breaks: "after a quarantine the clock is above all that a lost counter gave",
		Edits: edit("quorum/config.go", "return c.MaxTTL / 2 }", "return c.MaxTTL * 50 }"),
		Judge: test("./quorum", "^TestCommandsBoundTheCounter$"),
	}, {
		Name: "poison-is-waited-for", Breaks: "who can't have a lock because its counters are poisoned is told at once",
		Edits: edit("quorum/errors.go", "return e.clockTooLate() || e.ahead() >", "return e.clockTooLate() && e.ahead() >"),
		Judge: test("./quorum", "^TestAllCountersPoisoned$"),
	}, {
		Name: "raise-refused-counts", Breaks: "a raise counts only where the key is still the lease's",
		Edits: edit("quorum/round.go", "\tif ballot.Vote.Outcome == Granted {\n\t\tr.hold.settle(i)", "\tif ballot.Vote.Outcome != Failed {\n\t\tr.hold.settle(i)"),
		Judge: scenario("S7e"),
	}, {
		Name: "raise-failed-counts", Breaks: "a raise that went unanswered doesn't count",
		Edits: edit("quorum/round.go", "\tif ballot.Vote.Outcome == Granted {\n\t\tr.hold.settle(i)", "\tif ballot.Vote.Outcome != Refused {\n\t\tr.hold.settle(i)"),
		Judge: scenario("M1"),
	}, {
		Name: "higher-straggler-counts", Breaks: "an instance whose vote is above the token isn't settled for it",
		Edits: edit("quorum/round.go", "if vote.Token <= r.token && firstOf(vote) <= r.first() {", "if true {"),
		Judge: test("./quorum", "^TestStragglerMakesUpForAFailedRaise$"),
	}, {
		Name: "lower-straggler-settled", Breaks: "a straggler that voted below the token lacks it",
		Edits: edit("quorum/round.go", "vote.Outcome == Granted && vote.Token >= r.token {", "vote.Outcome == Granted {"),
		Judge: scenario("M5"),
	}, {
		Name: "token-unchecked", Breaks: "a grant without a token is no grant",
		Edits: edit("quorum/errand.go", "\tif e.op != Acquire || !e.fence {\n", "\tif true {\n"),
		Judge: test("./quorum", "^TestGrantWithoutATokenIsAFailedVote$"),
	}, {
		Name: "reserved-unchecked", Breaks: "a grant with more reserved tokens than were asked for is no grant",
		Edits: edit("quorum/errand.go", "case vote.Spare < 0 || vote.Spare > e.spare || !firstOf(vote).Valid():", "case !firstOf(vote).Valid():"),
		Judge: test("./quorum", "^TestGrantWithImpossibleSpareIsAFailedVote$"),
	}}
}
