package mutants

// ofErrors breaks what errors say of what was done, and of whether waiting helps.
func ofErrors() []Mutant {
	answers := test("./instance", "^TestAnswers$")
	return []Mutant{{
		Name: "error-read-anywhere", Breaks: "an answer is known by how it begins, and not by a key in it",
		Edits: edit("instance/answers.go", "if strings.HasPrefix(phrase, p.begins) {", "if strings.Contains(phrase, p.begins) {"),
		Judge: answers,
	}, {
		Name: "script-error-did-nothing", Breaks: "a script that stopped halfway may have set the key",
		Edits: edit("instance/answers.go", "return coded && sent != \"\" && !wrapped && !strings.Contains(", "return coded && sent != \"\" && !wrapped || strings.Contains("),
		Judge: answers,
	}, {
		Name: "wrapped-error-did-nothing", Breaks: "the same in the words of servers before 7.0",
		Edits: edit("instance/answers.go", "return coded && sent != \"\" && !wrapped && !strings", "return coded && sent != \"\" && !strings"),
		Judge: answers,
	}, {
		Name: "missing-command-did-nothing", Breaks: "a command that a script lacks may be its last",
		Edits: edit("instance/answers.go", "return sent != \"\" && !wrapped && strings.EqualFold(name, sent)", "return sent != \"\" && !wrapped && name != \"\""),
		Judge: answers,
	}, {
		Name: "listed-error-did-nothing", Breaks: "an error in a list of answers is one that a script met",
		Edits: edit("instance/batch.go", "\t\t\tc.turnedDown(failure, \"\")\n", "\t\t\tc.turnedDown(failure, a.name)\n"),
		Judge: test("./instance", "^TestErrorsHandedOnByAScript$"),
	}, {
		Name: "missing-command-waited-for", Breaks: "a command that isn't there is not waited for",
		Edits: edit("instance/errors.go", "ErrCommand = error(permanent(", "ErrCommand = error(errors.New("),
		Judge: test("./instance", "^TestWhatWaitingCures$"),
	}, {
		Name: "full-server-given-up", Breaks: "a server that has too many clients is waited for",
		Edits: edit("instance/greeting.go", "return e.kind == ErrNotRedis || e.kind == ErrProtected", "return e.kind != ErrConnection"),
		Judge: test("./instance", "^TestWhatWaitingCures$"),
	}, {
		Name: "greeting-unbounded", Breaks: "what answers the greeting can't fill the memory",
		Edits: edit("instance/greeting.go", "\t\tif n > maxGreeting {\n", "\t\tif n > maxGreeting<<20 {\n"),
		Judge: test("./instance", "^TestHostileGreeting$"),
	}, {
		Name: "pending-is-failed", Breaks: "a vote that wasn't needed is no failure",
		Edits: edit("quorum/errors.go", "case ballot.Vote.Err == ErrPending:", "case ballot.Vote.Err == ErrPending && false:"),
		Judge: test("./quorum", "^TestPendingVotesAreNoFailures$"),
	}, {
		Name: "nil-lease-goes-on", Breaks: "the contexts of a nil lease have ended",
		Edits: edit("quorum/leasecontext.go", "\t\tcancel(errNoLease)\n", ""),
		Judge: test("./quorum", "^TestNilLease$"),
	}, {
		Name: "raises-not-counted", Breaks: "raises that fail for good are not waited for",
		Edits: edit("quorum/waiting.go", "range [][]Ballot{err.Votes, err.Raises} {", "range [][]Ballot{err.Votes} {"),
		Judge: test("./quorum", "^TestTokenRaceShowsTheRaises$"),
	}, {
		Name: "replica-never-votes-again", Breaks: "one that was promoted does",
		Edits: edit("quorum/member.go", "return standing{err: m.unfit}", "return standing{known: m.unfit != nil, err: m.unfit}"),
		Judge: test("./quorum", "^TestOnlyMastersVote$"),
	}}
}
