package mutants

// ofHandles breaks what keeps one lease one when it is handed off to another process.
func ofHandles() []Mutant {
	return []Mutant{{
		Name: "handed-off-lives-on", Breaks: "handing a lease off ends it for its holder",
		Edits: edit("quorum/handle.go", "\tends, first := l.endLocked(ErrHandedOff)\n", "\tends, first := []context.CancelCauseFunc(nil), l.over == nil\n"),
		Judge: test("./quorum", "^TestHandingOffEndsTheLease$"),
		Also:  []Judge{searching("relay")},
	}, {
		Name: "millennia-overflow", Breaks: "MaxLife bounds a lease whose handle says that it was sent in another millennium",
		Edits: edit("quorum/handle.go", "min(max(0, now.Sub(h.sent)), math.MaxInt64/4)", "max(0, min(now.Sub(h.sent), math.MaxInt64))"),
		Judge: test("./quorum", "^TestMaxLifeGoesAlong$"),
	}, {
		Name: "extension-not-awaited", Breaks: "an extension under way is waited for before a lease is handed off",
		Edits: edit("quorum/handle.go", "\tcase extending <- struct{}{}:\n\t\tdefer func() { <-extending }()\n", "\tdefault:\n\t\t_ = extending\n"),
		Judge: test("./quorum", "^TestHandingOffWaitsForAnExtension$"),
	}, {
		Name: "resumed-under-the-old-value", Breaks: "nothing late of the sender can touch the receiver's key",
		Edits: edit("quorum/round.go", "\tif hooks.RoundStarted != nil {\n\t\thooks.RoundStarted(ctx, RoundStart{Op: Acquire", "\tif way.resumes {\n\t\tvalue = way.replace\n\t}\n\tif hooks.RoundStarted != nil {\n\t\thooks.RoundStarted(ctx, RoundStart{Op: Acquire"),
		Judge: test("./quorum", "^TestNothingLateOfTheSenderHurtsTheReceiver$"),
		Also:  []Judge{searching("relay")},
	}, {
		Name: "resume-counts-free-keys", Breaks: "only instances that still have the lease count for its resumption",
		Edits: edit("quorum/round.go", "if r.resumes && outcome == Granted && !ballot.Vote.Replaced {", "if false {"),
		Judge: test("./quorum", "^TestHandleWorksOnce$|^TestResumeOfWhatIsLost$"),
		Also:  []Judge{scenario("S30c")},
	}, {
		Name: "max-life-left-behind", Breaks: "MaxLife bounds a lease however often it is handed off",
		Edits: edit("quorum/handle.go", "lived: drift.Elapsed(l.acquired, now), sent", "lived: drift.Elapsed(now, now), sent"),
		Judge: test("./quorum", "^TestMaxLifeGoesAlong$"),
	}, {
		Name: "handles-token-believed", Breaks: "a handle's token must be below the instances' counters",
		Edits: edit("quorum/handle.go", "if lease.token <= handle.token && c.cfg.Fencing == On {", "if false {"),
		Judge: test("./quorum", "^TestForgedTokenOfAHandle$"),
	}, {
		Name: "senders-stragglers-stay", Breaks: "the sender deletes what it set and what arrives after the receiver's release",
		Edits: edit("quorum/hold.go", "left.coming > 0 && !left.there {\n\t\th.c.members[a.i].owed.owe", "false {\n\t\th.c.members[a.i].owed.owe"),
		Judge: test("./quorum", "^TestSenderDeletesItsStragglers$"),
	}, {
		Name: "handle-in-json", Breaks: "only Text writes a handle's secret",
		Edits: edit("quorum/handle.go", "\treturn nil, fmt.Errorf(\"%w: a handle is a secret", "\tif text, err := h.Text(); err == nil {\n\t\treturn []byte(text), nil\n\t}\n\treturn nil, fmt.Errorf(\"%w: a handle is a secret"),
		Judge: test("./quorum", "^TestHandleIsNotPrinted$"),
	}, {
		Name: "max-ttl-not-agreed", Breaks: "clients with another MaxTTL are refused",
		Edits: edit("quorum/set.go", "\" MaxTTL=\" + s.MaxTTL.String()", "\" MaxTTL=0s\""),
		Judge: test("./quorum", "^TestClientsAgreeOnMaxTTL$"),
	}}
}
