package mutants

// ofCohorts breaks how a lease passes on within a process.
func ofCohorts() []Mutant {
	return []Mutant{{
		Name: "spares-above-the-settled", Breaks: "the tokens of those who follow are settled with the first one's",
		Edits: edit("quorum/round.go", "return r.token - fencing.Token(r.cmd.Spare)", "return r.token"),
		Judge: scenario("X5"),
	}, {
		Name: "spares-without-end", Breaks: "who follows has a token that was taken for that",
		Edits: edit("quorum/cohort.go", "if h.spare == 0 {", "if h.spare < 0 {"),
		Judge: searching("cohorts"),
	}, {
		Name: "pass-adds-time", Breaks: "who follows has the time that is left",
		Edits: edit("quorum/cohort.go", "to.round, to.start, to.length = l.round, l.start, l.length", "to.round = l.round"),
		Judge: searching("cohorts"),
	}, {
		Name: "pass-late", Breaks: "who follows has about as much time as a round would give",
		Edits: edit("quorum/cohort.go", "used <= l.length/passShare && ", ""),
		Judge: test("./quorum", "^TestWhatIsNotPassedOn$"),
	}, {
		Name: "pass-after-extension", Breaks: "no late extension cuts short what the next holder has extended",
		Edits: edit("quorum/cohort.go", " || l.extending != nil", ""),
		Judge: test("./quorum", "^TestWhatIsNotPassedOn$"),
	}, {
		Name: "passed-value-told", Breaks: "who passed a lease on can't give its key away",
		Edits: edit("quorum/lease.go", "\tif l.passed {\n\t\treturn \"\"\n\t}\n", ""),
		Judge: test("./quorum", "^TestPassedLeaseIsOver$"),
	}, {
		Name: "cohorts-keep-others-out", Breaks: "who waits in another process has its turn soon",
		Edits: edit("quorum/locals.go", "case n > 1 && !at.contestedAt(now):", "case n > 1:"),
		Judge: test("./quorum", "^TestCohortsLetOthersIn$"),
	}}
}
