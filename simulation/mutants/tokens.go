package mutants

// ofTokens breaks the proof that tokens rise.
func ofTokens() []Mutant {
	return []Mutant{{
		Name: "naive-maximum", Breaks: "lower counters are raised to the token",
		Edits: []Edit{
			{"quorum/round.go", "case vote.Outcome == Granted && vote.Token == r.token:", "case vote.Outcome == Granted:"},
			{"quorum/round.go", "vote.Token < r.token && (r.stage == raising || r.stage == won)", "vote.Token < 0*r.token"},
		},
		Judge: scenario("S22"),
	}, {
		Name: "token-minimum", Breaks: "the token is the largest of the votes'",
		Edits: edit("quorum/round.go", "r.token = max(r.token, vote.Token)", "r.token = min(max(r.token-1, vote.Token-1)+1, vote.Token)"),
		Judge: scenario("S22"),
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
		Edits: edit("quorum/round.go", "\t\tr.hold.settle(i)\n\t\tr.countSettled(Failed)\n", "\t\tr.hold.settle(i)\n\t\tr.countSettled(Granted)\n"),
		Judge: test("./quorum", "^TestStragglerMakesUpForAFailedRaise$"),
	}, {
		Name: "token-unchecked", Breaks: "a grant without a token is no grant",
		Edits: edit("quorum/errand.go", "if fence && !ballot.Vote.Token.Valid() {", "if false && fence {"),
		Judge: test("./quorum", "^TestGrantWithoutATokenIsAFailedVote$"),
	}}
}
