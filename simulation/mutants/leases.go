package mutants

// ofLeases breaks how a lease is extended and passed on.
func ofLeases() []Mutant {
	return []Mutant{{
		Name:  "restored-counts",
		Edits: at("restore-is-no-grant", "t.errand.send(Command{Op: Extend, Key: h.key, Value: h.value, TTL: t.extension.ttl}, now)", "t.errand.send(Command{Op: Restore, Key: h.key, Value: h.value, TTL: t.extension.ttl, Token: t.extension.lease.token, Fence: h.c.cfg.Fencing == On, CounterTTL: h.c.cfg.CounterTTL, Set: h.c.cfg.Set}, now)"),
		Judge: test("./quorum", "^TestRestoredInstancesDoNotCount$"),
	}, {
		Name: "extension-revives",
		Edits: []Edit{
			{"expired-not-extended", "case left <= 0:", "case left < 0:"},
			{"expired-is-over", "l.end(l.expiry())", ""},
			{"late-replies", "if l.Validity() <= 0 {", "if false {"},
			{"restore-is-no-grant", "t.errand.send(Command{Op: Extend, Key: h.key, Value: h.value, TTL: t.extension.ttl}, now)", "t.errand.send(Command{Op: Restore, Key: h.key, Value: h.value, TTL: t.extension.ttl, Token: t.extension.lease.token, Fence: h.c.cfg.Fencing == On, CounterTTL: h.c.cfg.CounterTTL, Set: h.c.cfg.Set}, now)"},
		},
		Judge: scenario("S1"),
	}, {
		Name: "late-extension-revives",
		Edits: []Edit{
			{"late-replies", "if l.Validity() <= 0 {", "if false {"},
			{"over-stays-over", "if l.over != nil {", "if l.over = nil; false {"},
		},
		Judge: test("./quorum", "^TestRepliesAfterTheDeadlineDoNotRevive$"),
	}, {
		Name:  "extension-in-part",
		Edits: at("extension-needs-quorum", "if verdict == Lost {", "if verdict == Lost && tally.Granted == 0 {"),
		Judge: scenario("S11c"),
	}, {
		Name:  "extension-from-reply",
		Edits: at("extension-from-send", "l.start, l.length = start, length", "l.start, l.length = l.hold.c.reader.Now(), length"),
		Judge: scenario("S11b"),
	}, {
		Name:  "extension-start-late",
		Edits: at("extension-start", "start := c.reader.Now() // before anything is sent: no key lives shorter than ttl from here\n\te := l.newExtension(ctx, ttl, timeout)\n\te.run(start)", "e := l.newExtension(ctx, ttl, timeout)\n\te.run(drift.Instant{})\n\tstart := c.reader.Now()"),
		Judge: scenario("M3"),
	}, {
		Name:  "extension-shortens",
		Edits: at("extension-never-shortens", "case length < left:", "case length < 0:"),
		Judge: scenario("M4"),
	}, {
		Name:  "failed-extension-releases",
		Edits: at("failed-extension-keeps", "return l.extendError(", "l.hold.release(ctx, nil, func(int, Ballot) {}); return l.extendError("),
		Judge: scenario("S11e"),
	}, {
		Name:  "restores-after-release",
		Edits: at("nothing-after-release", "return !h.gone && (!h.spots", "return (!h.spots"),
		Judge: test("./quorum", "^TestALateExtensionPutsNothingBack$"),
	}, {
		Name:  "restores-unextended",
		Edits: at("restore-if-extended", "if !won || !h.needsRestore(t.i) {", "if won && !h.needsRestore(t.i) {"),
		Judge: test("./quorum", "^TestNothingIsPutBackByAnExtensionThatFailed$"),
	}, {
		Name:  "no-top-up",
		Edits: at("restore-where-lacking", "if !won || !h.needsRestore(t.i) {", "if !won || true || !h.needsRestore(t.i) {"),
		Judge: scenario("S19"),
	}, {
		Name:  "extend-without-compare",
		Edits: at("extend-compares", "if held ~= ARGV[3] then", "if not held then"),
		Judge: contract(),
	}, {
		Name:  "extend-sets",
		Edits: at("extend-sets-nothing", "if held ~= ARGV[3] then", "if not held then redis.call('SET', KEYS[1], ARGV[3]) held = ARGV[3] end if held ~= ARGV[3] then"),
		Judge: contract(),
	}, {
		Name:  "restore-over-others",
		Edits: at("restore-compares", "if held and held ~= ARGV[3] then", "if held == '' then"),
		Judge: contract(),
	}, {
		Name:  "replace-without-compare",
		Edits: at("replace-compares", "if held and (replaced == '' or held ~= replaced) then", "if held and replaced == '' then"),
		Judge: contract(),
	}, {
		Name:  "spare-takes-a-held-lock",
		Edits: at("reserve-where-free", "if held and (replaced == '' or held ~= replaced) then", "if held and replaced ~= '' and held ~= replaced then"),
		Judge: contract(),
	}, {
		Name:  "life-without-end",
		Edits: at("max-life", "if l.terms.MaxLife == 0 {", "if l.terms.MaxLife >= 0 {"),
		Judge: scenario("S11f"),
	}, {
		Name:  "spares-without-end",
		Edits: at("handover-has-token", "if h.spare == 0 {", "if h.spare < 0 {"),
		Judge: searching("cohorts"),
	}, {
		Name:  "pass-adds-time",
		Edits: at("handover-keeps-time", "to.round, to.start, to.length = l.round, l.start, l.length", "to.round = l.round"),
		Judge: searching("cohorts"),
	}, {
		Name:  "pass-after-extension",
		Edits: at("handover-not-extending", " || l.extending != nil", ""),
		Judge: test("./quorum", "^TestWhatIsNotPassedOn$"),
	}, {
		Name:  "passed-value-told",
		Edits: at("handover-hides-value", "if l.passed {", "if false {"),
		Judge: test("./quorum", "^TestPassedLeaseIsOver$"),
	}, {
		Name:  "handed-off-lives-on",
		Edits: at("handoff-ends-lease", "ends, first := l.endLocked(ErrHandedOff)", "ends, first := []context.CancelCauseFunc(nil), l.over == nil"),
		Judge: test("./quorum", "^TestHandingOffEndsTheLease$"),
		Also:  []Judge{searching("relay")},
	}, {
		Name:  "extension-not-awaited",
		Edits: at("handoff-after-extension", "case extending <- struct{}{}:\n\t\tdefer func() { <-extending }()", "default:\n\t\t_ = extending"),
		Judge: test("./quorum", "^TestHandingOffWaitsForAnExtension$"),
	}, {
		Name:  "resumed-under-the-old-value",
		Edits: at("resumed-under-new-value", "r := c.newRound(", "if way.resumes { value = way.replace }; r := c.newRound("),
		Judge: test("./quorum", "^TestNothingLateOfTheSenderHurtsTheReceiver$"),
		Also:  []Judge{searching("relay")},
	}, {
		Name:  "resume-counts-free-keys",
		Edits: at("resume-replaces", "if r.resumes && outcome == Granted && !ballot.Vote.Replaced {", "if false {"),
		Judge: test("./quorum", "^TestHandleWorksOnce$|^TestResumeOfWhatIsLost$"),
		Also:  []Judge{scenario("S30c")},
	}, {
		Name:  "max-life-left-behind",
		Edits: at("max-life-goes-along", "lived: drift.Elapsed(l.acquired, now), sent", "lived: drift.Elapsed(now, now), sent"),
		Judge: test("./quorum", "^TestMaxLifeGoesAlong$"),
	}, {
		Name:  "millennia-overflow",
		Edits: at("max-life-forged", "min(max(0, now.Sub(h.sent)), math.MaxInt64/4)", "max(0, min(now.Sub(h.sent), math.MaxInt64))"),
		Judge: test("./quorum", "^TestMaxLifeGoesAlong$"),
	}, {
		Name:  "handles-token-believed",
		Edits: at("handle-token-below", "if lease.token <= handle.token && c.cfg.Fencing == On {", "if false {"),
		Judge: test("./quorum", "^TestForgedTokenOfAHandle$"),
	}, {
		Name:  "senders-stragglers-stay",
		Edits: at("sender-cleans-up", "left.coming > 0 && !left.there {", "false {"),
		Judge: test("./quorum", "^TestSenderDeletesItsStragglers$"),
	}}
}
