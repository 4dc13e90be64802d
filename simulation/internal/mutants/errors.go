package mutants

// ofErrors breaks errors and replies.
func ofErrors() []Mutant {
	return []Mutant{{
		Name:     "error-read-anywhere",
		Edits:    at("error-by-its-beginning", "if strings.HasPrefix(phrase, p.begins) {", "if strings.Contains(phrase, p.begins) {"),
		Detector: test("./instance", "^TestAnswers$"),
	}, {
		Name:     "script-error-did-nothing",
		Edits:    at("stopped-script-may-have-set", `return coded && sent != "" && !wrapped && !strings.Contains(`, `return coded && sent != "" && !wrapped || strings.Contains(`),
		Detector: test("./instance", "^TestAnswers$"),
	}, {
		Name:     "wrapped-error-did-nothing",
		Edits:    at("stopped-script-before-7", `return coded && sent != "" && !wrapped && !strings`, `return coded && sent != "" && !strings`),
		Detector: test("./instance", "^TestAnswers$"),
	}, {
		Name:     "missing-command-did-nothing",
		Edits:    at("missing-command-may-be-the-last", `return sent != "" && !wrapped && strings.EqualFold(name, sent)`, `return sent != "" && !wrapped && name != ""`),
		Detector: test("./instance", "^TestAnswers$"),
	}, {
		Name:     "listed-error-did-nothing",
		Edits:    at("listed-errors-are-a-scripts", `c.turnedDown(failure, "")`, "c.turnedDown(failure, a.name)"),
		Detector: test("./instance", "^TestErrorsHandedOnByAScript$"),
	}, {
		Name:     "unsent-claimed",
		Edits:    at("unsent-is-certain", "Unsent: !c.in.sealed, Err: err}", "Unsent: true, Err: err}"),
		Detector: test("./instance", "^TestGarbage$"),
	}, {
		Name:     "missing-command-waited-for",
		Edits:    at("permanent-is-said", "return true", "return false"),
		Detector: test("./instance", "^TestWhatWaitingCures$"),
	}, {
		Name:     "full-server-given-up",
		Edits:    at("full-server-is-waited-for", "return e.kind == ErrNotRedis || e.kind == ErrProtected", "return e.kind != ErrConnection"),
		Detector: test("./instance", "^TestWhatWaitingCures$"),
	}, {
		Name:     "greeting-unbounded",
		Edits:    at("greeting-bounded", "if n > maxGreeting {", "if n > maxGreeting<<20 {"),
		Detector: test("./instance", "^TestHostileGreeting$"),
	}, {
		Name:     "long-text-repeated",
		Edits:    at("long-texts-cut", "if not theirs or #found > 512 then", "if not theirs then"),
		Detector: test("./instance", "^TestLongTextsHurtNoOtherLock$/^miniredis$"),
	}, {
		Name:     "long-value-repeated",
		Edits:    at("long-values-cut", "string.sub(held, 1, 16384)", "held"),
		Detector: test("./instance", "^TestLongTextsHurtNoOtherLock$/^miniredis$"),
	}, {
		Name:     "pending-is-failed",
		Edits:    at("pending-is-no-failure", "case ballot.Vote.Err == ErrPending:", "case ballot.Vote.Err == ErrPending && false:"),
		Detector: test("./quorum", "^TestPendingVotesAreNoFailures$"),
	}, {
		Name:     "nil-lease-goes-on",
		Edits:    at("nil-lease-is-over", "cancel(errNoLease)", ""),
		Detector: test("./quorum", "^TestNilLease$"),
	}, {
		Name:     "raises-not-counted",
		Edits:    at("failed-raises-count", "range [][]Ballot{err.Votes, err.Raises} {", "range [][]Ballot{err.Votes} {"),
		Detector: test("./quorum", "^TestTokenRaceShowsTheRaises$"),
	}, {
		Name:     "poison-is-waited-for",
		Edits:    at("poison-is-told", "return e.clockTooLate() || e.ahead() >", "return e.clockTooLate() && e.ahead() >"),
		Detector: test("./quorum", "^TestAllCountersPoisoned$"),
	}, {
		Name:     "release-says-all-is-well",
		Edits:    at("release-tells", "if d.tally.Verdict() == Won {", "if d.tally.Verdict() != Pending {"),
		Detector: test("./quorum", "^TestReleaseOfAnExpiredLeaseIsTold$"),
	}, {
		Name:     "handle-in-json",
		Edits:    at("handle-stays-secret", "return nil, fmt.Errorf(", "if text, err := h.Text(); err == nil { return []byte(text), nil }; return nil, fmt.Errorf("),
		Detector: test("./quorum", "^TestHandleIsNotPrinted$"),
	}, {
		Name:     "redacts-whole-values-only",
		Edits:    at("redact-parts", "`[0-9a-fA-F]{16,}`", "`[0-9a-f]{40}`"),
		Detector: test("./quorum", "^TestRedact$"),
	}}
}
