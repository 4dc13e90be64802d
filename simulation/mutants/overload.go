package mutants

// ofOverload breaks what keeps leases when the servers can't serve all that is asked.
func ofOverload() []Mutant {
	return []Mutant{{
		Name: "extensions-wait-in-line", Breaks: "extensions go before acquisitions at each instance",
		Edits: edit("instance/line.go", "\tcase !c.cmd.Op.Held():\n\t\treturn wanting\n\tcase", "\tcase !c.cmd.Op.Held():\n\t\treturn freeing\n\tcase"),
		Judge: test("./instance", "^TestWhatIsHeldGoesFirst$"),
	}, {
		Name: "releases-before-extensions", Breaks: "extensions go before releases at each instance",
		Edits: edit("instance/line.go", "\tcase c.cmd.Op == quorum.Release:\n\t\treturn freeing\n", "\tcase c.cmd.Op != quorum.Release:\n\t\treturn freeing\n"),
		Judge: test("./instance", "^TestWhatIsHeldGoesFirst$"),
	}, {
		Name: "extensions-turned-away", Breaks: "an instance that is late turns away acquisitions, not extensions",
		Edits: edit("instance/pipe.go", "c.rank() == wanting && p.waiting.wanted() >= maxWaiting", "p.waiting.wanted() >= maxWaiting"),
		Judge: test("./instance", "^TestWhatIsHeldIsLetWait$"),
	}, {
		Name: "extensions-in-vain", Breaks: "an extension that can't be answered in time isn't sent",
		Edits: edit("instance/redis.go", "cmd.Op == quorum.Acquire || cmd.Op == quorum.Extend {", "cmd.Op == quorum.Acquire {"),
		Judge: test("./instance", "^TestLateCommandsAreLeftBehind$"),
	}, {
		Name: "failures-raise-the-limit", Breaks: "rounds that fail at once are no sign that there is time",
		Edits: edit("quorum/admission.go", "if answered && !a.judged {", "if !a.judged {"),
		Judge: test("./quorum", "^TestRoundsThatFailAtOnceRaiseNothing$"),
	}, {
		Name: "late-answers-in-vain", Breaks: "a keeper uses the answers of servers that are late",
		Edits: edit("quorum/keepalive.go", "min(4*c.cfg.InstanceTimeout, left/8)", "0"),
		Judge: test("./quorum", "^TestLateExtensionsCount$"),
	}, {
		Name: "extensions-one-by-one", Breaks: "many extensions don't wait for the exchange of a late server",
		Edits: edit("instance/pipe.go", "case n == 0 || p.waiting.keeping() >= crowdKept*n:", "case n == 0:"),
		Judge: test("./instance", "^TestManyLeasesArentKeptOneExchangeAfterTheOther$"),
	}, {
		Name: "no-exchange-for-the-held", Breaks: "acquisitions leave an exchange to what is held",
		Edits: edit("instance/pipe.go", "\tif p.waiting.len() == p.waiting.wanted() {\n\t\tmost--", "\tif false {\n\t\tmost--"),
		Judge: test("./instance", "^TestAcquisitionsLeaveAnExchange$"),
	}, {
		Name: "in-flight-without-reserve", Breaks: "acquisitions leave a part of MaxInFlight to what is held",
		Edits: edit("quorum/member.go", "\tif !op.Held() {\n\t\tmost = forWanted(most)", "\tif false {\n\t\tmost = forWanted(most)"),
		Judge: test("./quorum", "^TestAcquisitionsLeaveRoomForWhatIsHeld$"),
	}, {
		Name: "everybody-admitted", Breaks: "no more rounds are begun than are decided in time",
		Edits: edit("quorum/admission.go", "\tif float64(a.underWay) >= a.limit {\n", "\tif float64(a.underWay) >= a.most {\n"),
		Judge: test("./instance", "^TestOverload$"),
	}, {
		Name: "panic-counts-forever", Breaks: "a round whose hook panics isn't counted any more",
		Edits: edit("quorum/round.go", "\t\tif !left {\n", "\t\tif !left && c == nil {\n"),
		Judge: test("./quorum", "^TestPanickingHookLeavesNoRoundBehind$"),
	}, {
		Name: "lateness-seen-late", Breaks: "a queue is noticed before the first round in it has ended",
		Edits: edit("quorum/admission.go", "\t\ta.judge(now.Mono-a.sample, false)\n", ""),
		Judge: test("./quorum", "^TestNoMoreRoundsBehindALateOne$"),
	}, {
		Name: "limit-for-good", Breaks: "after an overload as many rounds are let in as before",
		Edits: edit("quorum/admission.go", "min(a.limit+a.limit/16, a.most)", "a.limit"),
		Judge: test("./quorum", "^TestLateRoundsAreThinnedOut$"),
	}, {
		Name: "far-away-is-overloaded", Breaks: "a long way to the servers is no queue",
		Edits: edit("quorum/admission.go", "a.quickest, a.foundAt = max(took, 1), now", "a.quickest, a.foundAt = min(max(took, 1), a.target), now"),
		Judge: test("./quorum", "^TestFarAwayServersAreNotOverloaded$"),
	}, {
		Name: "longer-way-is-overloaded", Breaks: "a way that has become longer is no queue forever",
		Edits: edit("quorum/admission.go", "now-a.foundAt > quickestLife", "now < 0"),
		Judge: test("./quorum", "^TestALongerWayIsNoOverloadForLong$"),
	}, {
		Name: "near-refusals-measure", Breaks: "a round that one near instance refuses is no measure for others",
		Edits: edit("quorum/admission.go", "\t\tif verdict == nil {\n", "\t\tif answered {\n"),
		Judge: test("./quorum", "^TestNearRefusalsAreNoMeasure$"),
	}, {
		Name: "timeouts-in-time", Breaks: "rounds that time out are too many on a long way, too",
		Edits: edit("quorum/admission.go", "a.judge(took, !answered && took >= a.timeout)", "a.judge(took, false)"),
		Judge: test("./quorum", "^TestALongWayIsNoOverload$"),
	}, {
		Name: "overload-is-hopeless", Breaks: "Acquire waits when it wasn't admitted",
		Edits: edit("quorum/waiting.go", " && !errors.Is(err.Verdict, ErrOverloaded)\n", "\n"),
		Judge: test("./quorum", "^TestOverloadIsToldOrWaitedFor$"),
	}, {
		Name: "due-together", Breaks: "leases that were taken together fall due at different times",
		Edits: edit("quorum/keepalive.go", "pause := left/3 - c.jitter(left/6)", "pause := left / 3"),
		Judge: test("./quorum", "^TestKeepAlivesAreSpread$"),
	}, {
		Name: "extensions-repeated-at-once", Breaks: "an extension isn't repeated while the one before may be under way",
		Edits: edit("quorum/keepalive.go", "pause = min(c.cfg.InstanceTimeout, left/2) + c.jitter(left/4)", "pause = c.jitter(left / 4)"),
		Judge: test("./quorum", "^TestFailedExtensionsAreNotRepeatedAtOnce$"),
	}}
}
