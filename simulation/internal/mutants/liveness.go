package mutants

// ofLiveness breaks what keeps waiting short.
func ofLiveness() []Mutant {
	return []Mutant{{
		Name:     "waits-for-all",
		Edits:    at("decided-early", "case t.Granted >= t.Q:", "case t.Granted >= t.Q && t.Granted+t.Refused+t.Failed == t.N:"),
		Detector: test("./quorum", "^TestHungMinorityCostsNothing$"),
	}, {
		Name:     "no-timeout",
		Edits:    at("instance-timeout", "e.m.inst.Send(cmd, left, e)", "e.m.inst.Send(cmd, left*1000, e)"),
		Detector: scenario("S7d"),
	}, {
		Name:     "timeout-without-end",
		Edits:    at("timeout-bounded", "if c.InstanceTimeout > maxMaxTTL {", "if false {"),
		Detector: test("./quorum", "^TestConfigRefusesBadValues$"),
	}, {
		Name:     "no-one-first",
		Edits:    at("one-first", "w.split = !w.split && t.granted > 0 && t.refused > 0", "w.split = false && t.granted > 0 && t.refused > 0"),
		Detector: test("./quorum", "^TestRoundAfterASplitAsksOneInstanceFirst$"),
	}, {
		Name:     "one-first-for-ever",
		Edits:    at("one-first-once", "w.split = !w.split && t.granted > 0 && t.refused > 0", "w.split = w.split || t.granted > 0 && t.refused > 0"),
		Detector: test("./simulation/internal/mutants/detector", "^TestKeyThatStaysOnOneServer$"),
	}, {
		Name:     "extensions-wait-in-line",
		Edits:    at("acquisitions-last", "return wanting", "return freeing"),
		Detector: test("./instance", "^TestWhatIsHeldGoesFirst$"),
	}, {
		Name:     "releases-before-extensions",
		Edits:    at("extensions-first", "case c.cmd.Op == wire.Release:", "case c.cmd.Op != wire.Release:"),
		Detector: test("./instance", "^TestWhatIsHeldGoesFirst$"),
	}, {
		Name:     "extensions-turned-away",
		Edits:    at("late-instance-keeps", "c.rank() == wanting && p.waiting.wanted() >= maxWaiting", "p.waiting.wanted() >= maxWaiting"),
		Detector: test("./instance", "^TestWhatIsHeldIsLetWait$"),
	}, {
		Name:     "extensions-in-vain",
		Edits:    at("no-late-extensions", "c.cmd.Op == wire.Acquire || c.cmd.Op == wire.Extend {", "c.cmd.Op == wire.Acquire {"),
		Detector: test("./instance", "^TestLateCommandsAreLeftBehind$"),
	}, {
		Name:     "extensions-one-by-one",
		Edits:    at("extensions-in-crowds", "case n == 0 || p.waiting.keeping() >= crowdKept*n:", "case n == 0:"),
		Detector: test("./instance", "^TestManyLeasesArentKeptOneExchangeAfterTheOther$"),
	}, {
		Name:     "no-exchange-for-the-held",
		Edits:    at("exchange-for-the-held", "if p.waiting.len() == p.waiting.wanted() {", "if false {"),
		Detector: test("./instance", "^TestAcquisitionsLeaveAnExchange$"),
	}, {
		Name:     "in-flight-without-reserve",
		Edits:    at("in-flight-for-the-held", "if !op.Held() {", "if false {"),
		Detector: test("./quorum", "^TestAcquisitionsLeaveRoomForWhatIsHeld$"),
	}, {
		Name:     "everybody-admitted",
		Edits:    at("admission", "if float64(a.underWay) >= a.limit {", "if float64(a.underWay) >= a.most {"),
		Detector: test("./instance", "^TestOverload$"),
	}, {
		Name:     "panic-counts-forever",
		Edits:    at("admission-after-panic", "if !left {", "if !left && c == nil {"),
		Detector: test("./quorum", "^TestPanickingHookLeavesNoRoundBehind$"),
	}, {
		Name:     "lateness-seen-late",
		Edits:    at("lateness-seen-early", "a.judge(now.Mono-a.sample, false)", ""),
		Detector: test("./quorum", "^TestNoMoreRoundsBehindALateOne$"),
	}, {
		Name:     "failures-raise-the-limit",
		Edits:    at("failures-are-no-room", "if answered && !a.judged {", "if !a.judged {"),
		Detector: test("./quorum", "^TestRoundsThatFailAtOnceRaiseNothing$"),
	}, {
		Name:     "limit-for-good",
		Edits:    at("limit-recovers", "min(a.limit+a.limit/16, a.most)", "a.limit"),
		Detector: test("./quorum", "^TestLateRoundsAreThinnedOut$"),
	}, {
		Name:     "far-away-is-overloaded",
		Edits:    at("far-away-is-no-queue", "a.quickest, a.foundAt = max(took, 1), now", "a.quickest, a.foundAt = min(max(took, 1), a.target), now"),
		Detector: test("./quorum", "^TestFarAwayServersAreNotOverloaded$"),
	}, {
		Name:     "longer-way-is-overloaded",
		Edits:    at("new-route-is-no-queue", "now-a.foundAt > quickestLife", "now < 0"),
		Detector: test("./quorum", "^TestALongerWayIsNoOverloadForLong$"),
	}, {
		Name:     "near-refusals-measure",
		Edits:    at("won-rounds-measure", "if verdict == nil {", "if answered {"),
		Detector: test("./quorum", "^TestNearRefusalsAreNoMeasure$"),
	}, {
		Name:     "timeouts-in-time",
		Edits:    at("timeouts-are-late", "a.judge(took, !answered && took >= a.timeout)", "a.judge(took, false)"),
		Detector: test("./quorum", "^TestALongWayIsNoOverload$"),
	}, {
		Name:     "overload-is-hopeless",
		Edits:    at("overload-is-waited-for", " && !errors.Is(err.Verdict, ErrOverloaded)", ""),
		Detector: test("./quorum", "^TestOverloadIsToldOrWaitedFor$"),
	}, {
		Name:     "late-answers-in-vain",
		Edits:    at("late-extensions-count", "min(4*c.cfg.InstanceTimeout, left/8)", "0"),
		Detector: test("./quorum", "^TestLateExtensionsCount$"),
	}, {
		Name:     "due-together",
		Edits:    at("extensions-spread", "pause := left/3 - c.jitter(left/6)", "pause := left / 3"),
		Detector: test("./quorum", "^TestKeepAlivesAreSpread$"),
	}, {
		Name:     "extensions-repeated-at-once",
		Edits:    at("extensions-spaced", "pause = min(c.cfg.InstanceTimeout, left/2) + c.jitter(left/4)", "pause = c.jitter(left / 4)"),
		Detector: test("./quorum", "^TestFailedExtensionsAreNotRepeatedAtOnce$"),
	}, {
		Name:     "pass-late",
		Edits:    at("handover-early-only", "used <= l.length/passShare && ", ""),
		Detector: test("./quorum", "^TestWhatIsNotPassedOn$"),
	}, {
		Name:     "cohorts-keep-others-out",
		Edits:    at("other-processes-get-in", "case n > 1 && !r.Polls && now >= t.contested:", "case n > 1:"),
		Detector: test("./quorum", "^TestCohortsLetOthersIn$"),
	}, {
		Name:     "handed-while-competing",
		Edits:    at("handover-to-a-waiter", "if q.competing || q.handed != none {", "if q.handed != none {"),
		Detector: queueRules(),
	}, {
		Name:     "competes-beside-a-handover",
		Edits:    at("no-round-beside-a-handover", "q.handed == none && q.holder == seen.Holder", "q.handed == none || true"),
		Detector: queueRules(),
	}, {
		Name:     "handovers-without-end",
		Edits:    at("handovers-are-counted", "q.turns.left--", ""),
		Detector: queueRules(),
	}, {
		Name:     "handed-lease-is-dropped",
		Edits:    at("handed-lease-comes-back", "handed = q.handed", ""),
		Detector: queueRules(),
	}, {
		Name:     "next-is-not-notified",
		Edits:    at("next-is-notified", "wake = q.first()", ""),
		Detector: queueRules(),
	}, {
		Name:     "subscription-to-another-run",
		Edits:    at("notified-by-voters", "if h.run() != run {", "if h.run() != run && false {"),
		Detector: test("./quorum", "^TestEarIsLost$"),
	}, {
		Name:     "polls-without-stepping-back",
		Edits:    at("polling-is-fair", "t.yield = now + r.Long", "t.yield = now"),
		Detector: test("./quorum", "^TestPollingIsFair$"),
	}, {
		Name:     "looks-are-not-counted",
		Edits:    at("looks-count-as-tries", "w.tries++", ""),
		Detector: test("./quorum", "^TestBoundsDoNotDependOnWhereTheHolderIs$"),
	}, {
		Name:     "waits-for-itself",
		Edits:    at("no-self-deadlock", "if op == wire.Acquire && c.heldUnder(ctx, key) {", "if op == wire.Look && c.heldUnder(ctx, key) {"),
		Detector: test("./quorum", "^TestHeldByCaller$"),
	}, {
		Name:     "held-by-caller-for-ever",
		Edits:    at("expired-is-not-held", " && !c.lease.expired()", ""),
		Detector: test("./quorum", "^TestHeldByCaller$"),
	}}
}
