package mutants

// ofReleases breaks the deletion of keys.
func ofReleases() []Mutant {
	return []Mutant{{
		Name:     "no-rollback",
		Edits:    at("rollback", "r.rollBack(ctx)", ""),
		Detector: scenario("S9"),
	}, {
		Name:     "rollback-on-callers-context",
		Edits:    at("rollback-detached", "d := newDeletion(", "if ctx.Err() != nil { return }; d := newDeletion("),
		Detector: test("./quorum", "^TestCancelledCallerLeavesNoKeys$"),
	}, {
		Name:     "failed-is-refused",
		Edits:    at("unknown-may-be-set", "if sets && !vote.Unsent {", "if false && sets && !vote.Unsent {"),
		Detector: scenario("S10"),
	}, {
		Name:     "rollback-where-granted",
		Edits:    at("absent-for-good", "func (k mark) absent() bool { return !k.there && k.coming == 0 }", "func (k mark) absent() bool { return !k.there }"),
		Detector: scenario("S10"),
	}, {
		Name:     "lanes-overtake",
		Edits:    at("delete-after-set", "if s.busy {", "if false {"),
		Detector: test("./quorum", "^TestDeleteNeverOvertakesItsSet$"),
	}, {
		Name:     "releases-a-quorum",
		Edits:    at("delete-everywhere", "d.askAll(", "d.parts = d.parts[:d.hold.c.majority.Q]; d.askAll("),
		Detector: scenario("S11d"),
	}, {
		Name:     "release-without-compare",
		Edits:    at("delete-compares", "if held[i] == ARGV[1 + i] then", "if held[i] then"),
		Detector: contract(),
	}, {
		Name:     "deletes-before-contexts-end",
		Edits:    at("contexts-end-first", "l.end(ErrReleased)\n\terr := l.giveBack(ctx)", "err := l.giveBack(ctx)\n\tl.end(ErrReleased)"),
		Detector: test("./quorum", "^TestContextEndsBeforeTheFirstDelete$"),
	}, {
		Name:     "no-debts",
		Edits:    at("delete-is-owed", "h.c.members[i].owed.owe(h.key, h.value, after)", "_ = after"),
		Detector: scenario("S9b"),
	}, {
		Name:     "debts-paid-by-nothing",
		Edits:    at("delete-repeated", "if debt.left.absent() {", "if !debt.left.there {"),
		Detector: scenario("S9"),
	}, {
		Name:     "debts-dropped-on-silence",
		Edits:    at("silence-keeps-delete", "return false, false", "return true, false"),
		Detector: scenario("S9b"),
	}, {
		Name:     "broken-connections-age-debts",
		Edits:    at("proxy-is-no-answer", "now-debt.erred >= window && (last > debt.erred || permanent(vote.Err)), true", "now-debt.erred >= window, true"),
		Detector: test("./quorum", "^TestAProxyThatClosesIsNoAnswer$"),
	}, {
		Name:     "last-pass-drops-what-comes",
		Edits:    at("last-pass-tries-all", "d.list = slices.DeleteFunc(d.list, func(debt *debt) bool { return debt.tried })", "d.list = nil"),
		Detector: test("./quorum", "^TestWhatIsOwedDuringTheLastPassIsTried$"),
	}, {
		Name:     "debts-without-bound",
		Edits:    at("pending-is-bounded", "if n < int64(d.max) {", "if n >= 0 {"),
		Detector: test("./quorum", "^TestTooManyDebtsStopTheVotes$"),
	}, {
		Name:     "failure-leaves-the-lock",
		Edits:    at("failed-counter-frees-lock", "call('DEL', lock)", ""),
		Detector: test("./instance", "^TestBadCounters$/^miniredis$"),
	}, {
		Name:     "set-again-without-expiry",
		Edits:    at("key-expires", ", 'PX', ttl)", ")"),
		Detector: contract(),
	}, {
		Name:     "set-without-expiry",
		Edits:    at("key-expires-settle", ", 'PX', ttl)", ")"),
		Detector: contract(),
	}, {
		Name:     "lease-lost-by-a-panic",
		Edits:    at("panic-releases", "c.discard(lease)", ""),
		Detector: test("./quorum", "^TestPanickingHookLeavesNoLeaseBehind$"),
	}, {
		Name:     "handed-to-who-has-gone",
		Edits:    at("cancelled-waiter-passes-on", "given != nil && !won {", "given != nil && won {"),
		Detector: test("./quorum", "^TestHandedToWhoHasGone$"),
	}}
}
