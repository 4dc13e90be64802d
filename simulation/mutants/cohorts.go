package mutants

// ofCohorts breaks how a lease passes on within a process.
func ofCohorts() []Mutant {
	return []Mutant{{
		Name: "spares-above-the-settled", Breaks: "the tokens of those who follow are settled with the first one's",
		Edits: edit("quorum/round.go", "func (r *round) first() fencing.Token { return r.token - fencing.Token(r.spare) }", "func (r *round) first() fencing.Token { return r.token }"),
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
		Edits: edit("quorum/locals.go", "case n > 1 && !l.polls && !q.contestedAt(now):", "case n > 1:"),
		Judge: test("./quorum", "^TestCohortsLetOthersIn$"),
	}, {
		Name: "handed-to-who-has-gone", Breaks: "a waiter that was handed a lease and is cancelled hands it on",
		Edits: edit("quorum/waiting.go", "given != nil && !won {", "given != nil && won {"),
		Judge: test("./quorum", "^TestHandedToWhoHasGone$"),
	}, {
		Name: "handed-while-competing", Breaks: "a lease is handed to a waiter that waits for it",
		Edits: edit("quorum/locals.go", "if first.trying || first.lease != nil {", "if first.lease != nil {"),
		Judge: test("./quorum", "^TestQueueInEveryOrder$"),
	}, {
		Name: "next-is-not-notified", Breaks: "a waiter that becomes the first knows it",
		Edits: edit("quorum/locals.go", "\t\t\tq.notifyLocked() // there is another first\n", ""),
		Judge: test("./quorum", "^TestQueueInEveryOrder$"),
	}, {
		Name: "looks-are-not-counted", Breaks: "a look at a lock of this process is a try",
		Edits: edit("quorum/waiting.go", "\t\t\tdue = false\n\t\t\tw.tries++\n", "\t\t\tdue = false\n"),
		Judge: test("./quorum", "^TestBoundsDoNotDependOnWhereTheHolderIs$"),
	}, {
		Name: "waits-for-itself", Breaks: "who has a lock and asks for it again is told",
		Edits: edit("quorum/acquire.go", "if op == Acquire && c.heldUnder(ctx, key) {", "if op == Look && c.heldUnder(ctx, key) {"),
		Judge: test("./quorum", "^TestHeldByCaller$"),
	}, {
		Name: "held-by-caller-for-ever", Breaks: "a lease that is over keeps nobody from asking",
		Edits: edit("quorum/leasecontext.go", " && !c.lease.expired()", ""),
		Judge: test("./quorum", "^TestHeldByCaller$"),
	}, {
		Name: "polls-without-stepping-back", Breaks: "where processes poll, whoever had the lock lets others have it",
		Edits: edit("quorum/locals.go", "\t\tq.yield = now + l.long\n", "\t\tq.yield = now\n"),
		Judge: test("./quorum", "^TestPollingIsFair$"),
	}}
}
