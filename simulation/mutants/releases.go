package mutants

// ofReleases breaks how keys are deleted.
func ofReleases() []Mutant {
	return []Mutant{{
		Name: "lanes-overtake", Breaks: "a delete isn't sent before the SET that it is to undo has ended",
		Edits: edit("quorum/hold.go", "\tif s.busy {\n\t\ts.line = append", "\tif false {\n\t\ts.line = append"),
		Judge: test("./quorum", "^TestDeleteNeverOvertakesItsSet$"),
	}, {
		Name: "no-debts", Breaks: "a delete that couldn't be delivered is owed",
		Edits: edit("quorum/hold.go", "\t\td.errand.m.owed.owe(h.key, h.value, after)\n", "\t\t_ = after\n"),
		Judge: scenario("S9b"),
	}, {
		Name: "debts-paid-by-nothing", Breaks: "a delete that found nothing is repeated while the SET may still come",
		Edits: edit("quorum/debts.go", "\t\tif debt.left.absent() {\n", "\t\tif !debt.left.there {\n"),
		Judge: scenario("S9"),
	}, {
		Name: "debts-dropped-on-silence", Breaks: "a delete is owed for as long as the instance is silent",
		Edits: edit("quorum/debts.go", "\t\tdebt.erred = 0\n\t\treturn false, false\n", "\t\tdebt.erred = 0\n\t\treturn true, false\n"),
		Judge: scenario("S9b"),
	}, {
		Name: "broken-connections-age-debts", Breaks: "a delete isn't given up because a proxy closes connections",
		Edits: edit("quorum/debts.go", "now-debt.erred >= window && (last > debt.erred || permanent(vote.Err)), true", "now-debt.erred >= window, true"),
		Judge: test("./quorum", "^TestAProxyThatClosesIsNoAnswer$"),
	}, {
		Name: "last-pass-drops-what-comes", Breaks: "what is owed while a Close delivers has its try, too",
		Edits: edit("quorum/debts.go", "\td.list = slices.DeleteFunc(d.list, func(debt *debt) bool { return debt.tried })\n", "\td.list = nil\n"),
		Judge: test("./quorum", "^TestWhatIsOwedDuringTheLastPassIsTried$"),
	}, {
		Name: "debts-without-bound", Breaks: "an instance that is owed too much gets nothing new to delete",
		Edits: edit("quorum/debts.go", "\tif n < int64(d.max) {\n", "\tif n >= 0 {\n"),
		Judge: test("./quorum", "^TestTooManyDebtsStopTheVotes$"),
	}, {
		Name: "releases-a-quorum", Breaks: "a release deletes on all instances",
		Edits: edit("quorum/hold.go", "\tfor i := range deletions {\n", "\tfor i := range deletions {\n\t\tif i >= h.c.majority.Q {\n\t\t\treport(i, Ballot{Instance: h.c.members[i].name, Vote: Vote{Outcome: Granted}})\n\t\t\tcontinue\n\t\t}\n"),
		Judge: scenario("S11d"),
	}, {
		Name: "release-says-all-is-well", Breaks: "a release that finds the keys gone says so",
		Edits: edit("quorum/release.go", "\tif r.tally.Verdict() == Won {\n", "\tif r.tally.Verdict() != Pending {\n"),
		Judge: test("./quorum", "^TestReleaseOfAnExpiredLeaseIsTold$"),
	}, {
		Name: "deletes-before-contexts-end", Breaks: "a holder's contexts end before its keys are deleted",
		Edits: edit("quorum/release.go", "\tl.end(ErrReleased)\n\terr := l.giveBack(ctx)\n", "\terr := l.giveBack(ctx)\n\tl.end(ErrReleased)\n"),
		Judge: test("./quorum", "^TestContextEndsBeforeTheFirstDelete$"),
	}, {
		Name: "lease-lost-by-a-panic", Breaks: "a lease that no caller is given, because a hook panics, is released",
		Edits: edit("quorum/round.go", "\t\tif !told {\n\t\t\tc.discard(lease)\n", "\t\tif !told {\n"),
		Judge: test("./quorum", "^TestPanickingHookLeavesNoLeaseBehind$"),
	}, {
		Name: "redacts-whole-values-only", Breaks: "a part of a lock's value is hidden in texts, too",
		Edits: edit("quorum/redact.go", "`[0-9a-fA-F]{16,}`", "`[0-9a-f]{40}`"),
		Judge: test("./quorum", "^TestRedact$"),
	}}
}
