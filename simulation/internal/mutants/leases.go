package mutants

// ofLeases breaks extensions and hand-offs.
func ofLeases() []Mutant {
	return []Mutant{{
		Name:     "restored-counts",
		Edits:    at("restore-is-no-grant", "wire.Request{Op: wire.Extend, Key: e.hold.key, Value: e.hold.value, TTL: e.ttl}", "wire.Request{Op: wire.Restore, Key: e.hold.key, Value: e.hold.value, TTL: e.ttl, Fence: wire.Fence{On: e.hold.c.cfg.Fencing == On, Token: e.lease.token, TTL: e.hold.c.cfg.CounterTTL, Set: e.hold.c.cfg.Set, Ahead: e.hold.c.cfg.ahead()}}"),
		Detector: test("./quorum", "^TestRestoredInstancesDoNotCount$"),
	}, {
		Name: "extension-revives",
		Edits: []Edit{
			{"expired-not-extended", "case left <= 0:", "case left < 0:"},
			{"expired-is-over", "l.end(l.expiry())", ""},
			{"late-replies", "if l.Validity() <= 0 {", "if false {"},
			{"restore-is-no-grant", "wire.Request{Op: wire.Extend, Key: e.hold.key, Value: e.hold.value, TTL: e.ttl}", "wire.Request{Op: wire.Restore, Key: e.hold.key, Value: e.hold.value, TTL: e.ttl, Fence: wire.Fence{On: e.hold.c.cfg.Fencing == On, Token: e.lease.token, TTL: e.hold.c.cfg.CounterTTL, Set: e.hold.c.cfg.Set, Ahead: e.hold.c.cfg.ahead()}}"},
		},
		Detector: scenario("S1"),
	}, {
		Name: "late-extension-revives",
		Edits: []Edit{
			{"late-replies", "if l.Validity() <= 0 {", "if false {"},
			{"over-stays-over", "if l.over != nil {", "if l.over = nil; false {"},
		},
		Detector: test("./quorum", "^TestRepliesAfterTheDeadlineDoNotRevive$"),
	}, {
		Name:     "extension-in-part",
		Edits:    at("extension-needs-quorum", "if verdict == Lost {", "if verdict == Lost && tally.Granted == 0 {"),
		Detector: scenario("S11c"),
	}, {
		Name:     "extension-from-reply",
		Edits:    at("extension-from-send", "l.start, l.length = start, length", "l.start, l.length = l.hold.c.reader.Now(), length"),
		Detector: scenario("S11b"),
	}, {
		Name:     "extension-start-late",
		Edits:    at("extension-start", "start := c.reader.Now() // before anything is sent: no key lives shorter than ttl from here\n\te := l.newExtension(ctx, ttl, timeout)\n\te.run(start)", "e := l.newExtension(ctx, ttl, timeout)\n\te.run(drift.Instant{})\n\tstart := c.reader.Now()"),
		Detector: scenario("M3"),
	}, {
		Name:     "extension-shortens",
		Edits:    at("extension-never-shortens", "case length < left:", "case length < 0:"),
		Detector: scenario("M4"),
	}, {
		Name:     "failed-extension-releases",
		Edits:    at("failed-extension-keeps", "return l.extendError(", "l.hold.release(ctx, nil, func(int, Ballot) {}); return l.extendError("),
		Detector: scenario("S11e"),
	}, {
		Name:     "restores-after-release",
		Edits:    at("nothing-after-release", "return !h.gone && (!h.spots", "return (!h.spots"),
		Detector: test("./quorum", "^TestALateExtensionPutsNothingBack$"),
	}, {
		Name:     "restores-unextended",
		Edits:    at("restore-if-extended", "e.verdict == Won && e.hold.needsRestore(i)", "e.verdict != Won || e.hold.needsRestore(i)"),
		Detector: test("./quorum", "^TestNothingIsPutBackByAnExtensionThatFailed$"),
	}, {
		Name:     "no-top-up",
		Edits:    at("restore-where-lacking", "e.verdict == Won && e.hold.needsRestore(i)", "false && e.hold.needsRestore(i)"),
		Detector: scenario("S19"),
	}, {
		Name:     "extend-without-compare",
		Edits:    at("extend-compares", "if held ~= ARGV[3] then", "if not held then"),
		Detector: contract(),
	}, {
		Name:     "extend-sets",
		Edits:    at("extend-sets-nothing", "if held ~= ARGV[3] then", "if not held then redis.call('SET', KEYS[1], ARGV[3]) held = ARGV[3] end if held ~= ARGV[3] then"),
		Detector: contract(),
	}, {
		Name:     "restore-over-others",
		Edits:    at("restore-compares", "if held and held ~= ARGV[3] then", "if held == '' then"),
		Detector: contract(),
	}, {
		Name:     "replace-without-compare",
		Edits:    at("replace-compares", "if held and (replaced == '' or held ~= replaced) then", "if held and replaced == '' then"),
		Detector: contract(),
	}, {
		Name:     "spare-takes-a-held-lock",
		Edits:    at("reserve-where-free", "if held and (replaced == '' or held ~= replaced) then", "if held and replaced ~= '' and held ~= replaced then"),
		Detector: contract(),
	}, {
		Name:     "life-without-end",
		Edits:    at("max-life", "if l.terms.MaxLife == 0 {", "if l.terms.MaxLife >= 0 {"),
		Detector: scenario("S11f"),
	}, {
		Name:     "spares-without-end",
		Edits:    at("handover-has-token", "if h.spare == 0 {", "if h.spare < 0 {"),
		Detector: searching("cohorts"),
	}, {
		Name:     "pass-adds-time",
		Edits:    at("handover-keeps-time", "to.round, to.start, to.length = l.round, l.start, l.length", "to.round = l.round"),
		Detector: searching("cohorts"),
	}, {
		Name:     "pass-after-extension",
		Edits:    at("handover-not-extending", " || l.extending != nil", ""),
		Detector: test("./quorum", "^TestWhatIsNotPassedOn$"),
	}, {
		Name:     "passed-value-told",
		Edits:    at("handover-hides-value", "if l.passed {", "if false {"),
		Detector: test("./quorum", "^TestPassedLeaseIsOver$"),
	}, {
		Name:     "handed-off-lives-on",
		Edits:    at("handoff-ends-lease", "ends, first := l.endLocked(ErrHandedOff)", "ends, first := []context.CancelCauseFunc(nil), l.over == nil"),
		Detector: test("./quorum", "^TestHandingOffEndsTheLease$"),
		Also:     []Detector{searching("relay")},
	}, {
		Name:     "extension-not-awaited",
		Edits:    at("handoff-after-extension", "case extending <- struct{}{}:\n\t\tdefer func() { <-extending }()", "default:\n\t\t_ = extending"),
		Detector: test("./quorum", "^TestHandingOffWaitsForAnExtension$"),
	}, {
		Name:     "resumed-under-the-old-value",
		Edits:    at("resumed-under-new-value", "r := c.newRound(", "if way.resumes { value = way.replace }; r := c.newRound("),
		Detector: test("./quorum", "^TestNothingLateOfTheSenderHurtsTheReceiver$"),
		Also:     []Detector{searching("relay")},
	}, {
		Name:     "resume-counts-free-keys",
		Edits:    at("resume-replaces", "if r.resumes && outcome == wire.Granted && !vote.Replaced {", "if false {"),
		Detector: test("./quorum", "^TestHandleWorksOnce$|^TestResumeOfWhatIsLost$"),
		Also:     []Detector{scenario("S30c")},
	}, {
		Name:     "max-life-left-behind",
		Edits:    at("max-life-goes-along", "lived: drift.Elapsed(l.acquired, now), sent", "lived: drift.Elapsed(now, now), sent"),
		Detector: test("./quorum", "^TestMaxLifeGoesAlong$"),
	}, {
		Name:     "millennia-overflow",
		Edits:    at("max-life-forged", "min(max(0, now.Sub(h.sent)), math.MaxInt64/4)", "max(0, min(now.Sub(h.sent), math.MaxInt64))"),
		Detector: test("./quorum", "^TestMaxLifeGoesAlong$"),
	}, {
		Name:     "handles-token-believed",
		Edits:    at("handle-token-below", "if lease.token <= handle.token && c.cfg.Fencing == On {", "if false {"),
		Detector: test("./quorum", "^TestForgedTokenOfAHandle$"),
	}, {
		Name:     "senders-stragglers-stay",
		Edits:    at("sender-cleans-up", "left.coming > 0 && !left.there {", "false {"),
		Detector: test("./quorum", "^TestSenderDeletesItsStragglers$"),
	}}
}
