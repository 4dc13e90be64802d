package mutants

// ofServers breaks the detection of restarted and replaced servers.
func ofServers() []Mutant {
	return []Mutant{{
		Name:     "no-restart-quarantine",
		Edits:    at("restart-quarantine", "return q.restart.err(Restarted, now)", "return nil"),
		Detector: scenario("M2"),
	}, {
		Name:     "quarantine-too-short",
		Edits:    at("quarantine-length", "quarantine{length: length,", "quarantine{length: length / 1000,"),
		Detector: scenario("M2"),
	}, {
		Name: "new-run-trusted",
		Edits: []Edit{
			{"run-id-changed", `case before.RunID != "" && id.RunID != before.RunID:`, "case false:"},
			{"epoch-changed", `case before.Epoch != "" && id.Epoch != before.Epoch:`, "case false:"},
			{"replication-id-changed", `case before.ReplID != "" && id.ReplID != before.ReplID:`, "case false:"},
		},
		Detector: test("./quorum", "^TestAnotherRunIDIsQuarantined$"),
		Also:     []Detector{scenario("S29"), searching("between")},
	}, {
		Name:     "promotion-unnoticed",
		Edits:    at("replication-id-changed", `case before.ReplID != "" && id.ReplID != before.ReplID:`, "case false:"),
		Detector: test("./quorum", "^TestASuspendedClientDoesNotMissAPromotion$"),
	}, {
		Name:     "replica-that-returns-trusted",
		Edits:    at("replica-was-promoted", "id.Promoted || replica ||", "id.Promoted || replica && id.Promoted ||"),
		Detector: test("./quorum", "^TestAReplicaThatIsAMasterNowWasPromoted$"),
	}, {
		Name:     "replicas-cost-votes",
		Edits:    at("replica-costs-no-vote", "id.Promoted || replica || drift.Elapsed(seen, now) >= backlogLife {", "id.Promoted || replica || drift.Elapsed(seen, now) >= 0 {"),
		Detector: test("./quorum", "^TestASuspendedClientDoesNotMissAPromotion$"),
	}, {
		Name:     "old-sight-trusted",
		Edits:    at("promotion-forgotten", " || drift.Elapsed(seen, now) >= backlogLife {", " || drift.Elapsed(seen, now) >= 1000*backlogLife {"),
		Detector: test("./quorum", "^TestASuspendedClientDoesNotMissAPromotion$"),
	}, {
		Name:     "suspensions-uncounted",
		Edits:    at("suspension-counts", "drift.Elapsed(seen, now) >= backlogLife {", "now.Mono-seen.Mono >= backlogLife {"),
		Detector: test("./quorum", "^TestASuspendedClientDoesNotMissAPromotion$"),
	}, {
		Name:     "lost-rights-for-ever",
		Edits:    at("run-asked-again", "e.m.mistrust()", ""),
		Detector: test("./quorum", "^TestTheRunIsHiddenFromNowOn$"),
	}, {
		Name:     "promotion-of-old-trusted",
		Edits:    at("promotion-date-unknown", "case id.Promoted && id.Served < 0:", "case false:"),
		Detector: test("./quorum", "^TestWhoNeedsNoQuarantine$"),
	}, {
		Name:     "vouched-promotion-trusted",
		Edits:    at("vouched-not-promoted", "case id.Vouched && !id.Promoted &&", "case id.Vouched &&"),
		Detector: test("./quorum", "^TestWhoNeedsNoQuarantine$"),
	}, {
		Name:     "spare-server-trusted",
		Edits:    at("served-for-a-quarantine", "case id.Served >= 0 && id.Served < q.length && (id.Uptime < 0 || id.Served < id.Uptime):", "case false:"),
		Detector: scenario("S29c"),
	}, {
		Name:     "young-server-trusted",
		Edits:    at("up-for-a-quarantine", "case id.Uptime >= 0 && id.Uptime < q.length:", "case false:"),
		Detector: test("./quorum", "^TestServersThatJustCameUpDoNotVote$"),
	}, {
		Name:     "second-server-trusted",
		Edits:    at("two-servers-one-name", `case sighted != "" && sighted != id.ReplID:`, "case false:"),
		Detector: test("./quorum", "^TestTwoServersUnderOneName$"),
	}, {
		Name:     "new-epoch-trusted",
		Edits:    at("epoch-changed", `case before.Epoch != "" && id.Epoch != before.Epoch:`, "case false:"),
		Detector: test("./instance", "^TestTheEpochGoesOnWithAReplica$"),
	}, {
		Name:     "mark-outlives-its-run",
		Edits:    at("mark-of-this-run", "if theirs ~= process then", "if theirs then process, id = theirs, marked elseif true then"),
		Detector: test("./instance", "^TestMark$"),
	}, {
		Name:     "mark-left-anew",
		Edits:    at("mark-is-kept", "if not theirs then", "if true then"),
		Detector: test("./instance", "^TestMark$"),
	}, {
		Name:     "mark-of-a-name-that-comes-back",
		Edits:    at("mark-of-this-name", "return not elsewhere or", "return true or"),
		Detector: test("./instance", "^TestMarkOfAnAddressThatComesBack$"),
	}, {
		Name:     "late-client-marks-anew",
		Edits:    at("mark-stays-for-late-clients", "or clock - left < tonumber(ARGV[6])", "or false"),
		Detector: test("./instance", "^TestContractOfAnyClient$/^mark$"),
	}, {
		Name:     "epochs-end-with-replicas",
		Edits:    at("epoch-survives-replicas", "if clean(since) and lately and known == marked then", "if false then"),
		Detector: test("./instance", "^TestTheEpochGoesOnWithAReplica$"),
	}, {
		Name:     "starter-ends-the-epoch",
		Edits:    at("epoch-survives-starters", "theirs, was, before, from = nil, marked, epoch, since", "theirs, was = nil, ''"),
		Detector: test("./instance", "^TestAClientThatStartsDoesNotEndTheEpochOfAFirstReplica$"),
	}, {
		Name:     "grants-are-no-evidence",
		Edits:    at("grants-are-evidence", "m.quarantine.counted(sent)", "_ = sent"),
		Detector: test("./quorum", "^TestEvidenceIsAsYoungAsTheLastGrant$"),
	}, {
		Name:     "evidence-never-ends",
		Edits:    at("evidence-ends", `if q.voter == "" || drift.Elapsed(`, `if q.voter == "" || drift.AtLeast(`),
		Detector: test("./quorum", "^TestASuspendedClientLeavesNoMarkAnew$"),
	}, {
		Name:     "epoch-not-asked-for-again",
		Edits:    at("epoch-asked-again", `s.run.Epoch() == ""`, `false`),
		Detector: test("./instance", "^TestARightToTheMarkThatIsTakenAndGivenBack$"),
	}, {
		Name:     "evidence-told-once",
		Edits:    at("evidence-is-told-until-kept", "local elsewhere = ARGV[5] ~= '' and ARGV[5] ~= process and not (ARGV[2] == process and ARGV[7] == '1')", "local elsewhere = ARGV[5] ~= '' and ARGV[5] ~= process and ARGV[2] ~= process"),
		Detector: test("./instance", "^TestEvidenceOfVotes$"),
	}, {
		Name:     "old-epoch-comes-back",
		Edits:    at("old-epoch-is-clean", "elseif was ~= '' and not clean(from) then", "elseif false then"),
		Detector: test("./instance", "^TestEvidenceOfVotes$"),
	}, {
		Name:     "first-epoch-trusted",
		Edits:    at("first-epoch-is-looked-at", `case (before.RunID != "" || before.ReplID != "") && (before.Epoch != "" || id.Epoch == ""):`, `case before.RunID != "" || before.ReplID != "":`),
		Detector: test("./quorum", "^TestTheFirstEpochOfARunningClient$"),
	}, {
		Name:     "vote-without-mark",
		Edits:    at("no-vote-without-mark", "if m.watchRestarts && m.quarantine.noMark {", "if false {"),
		Detector: test("./quorum", "^TestAnEpochIsAskedForWithoutTheMonitor$"),
	}, {
		Name:     "vouched-for-ever",
		Edits:    at("vouched-while-young", "id.Uptime >= 0 && id.Uptime < q.length:", "true:"),
		Detector: test("./instance", "^TestAVouchedRunIDEndsAfterAQuarantine$"),
	}, {
		Name:     "full-server-trusted",
		Edits:    at("no-mark-no-trust", "case ErrOutOfMemory, ErrMisconf, wire.ErrNotMaster:", "case wire.ErrNotMaster:"),
		Detector: test("./instance", "^TestMarkThatCannotBeKept$"),
	}, {
		Name:     "mixed-answers-trusted",
		Edits:    at("probe-of-one-server", `if p.id.RunID != "" && runID != p.id.RunID ||`, "if false && runID != p.id.RunID || false &&"),
		Detector: test("./instance", "^TestAProbeOfTwoServersFails$"),
	}, {
		Name:     "passing-errors-hide",
		Edits:    at("hidden-is-said", "return part != askServer && part != askReplication && part != askMark || ", "return true || "),
		Detector: test("./instance", "^TestAProxysErrorHidesNothing$|^TestAProxysErrorHidesNoMark$"),
	}, {
		Name:     "hidden-for-ever",
		Edits:    at("hidden-asked-again", "if hidden {", "if hidden && false {"),
		Detector: test("./quorum", "^TestAHiddenRunIsAskedForAgain$"),
	}, {
		Name:     "hidden-run-id-untold",
		Edits:    at("hidden-is-told", `!m.toldHidden && id.Run() == ""`, `!m.toldHidden && id.Run() == "" && id.Uptime < 0`),
		Detector: scenario("S7f"),
	}, {
		Name:     "replica-votes",
		Edits:    at("masters-vote", "m.unfit = err", "m.unfit = nil"),
		Detector: test("./quorum", "^TestOnlyMastersVote$"),
	}, {
		Name:     "replica-never-votes-again",
		Edits:    at("promoted-votes-again", "return standing{err: m.unfit}", "return standing{known: m.unfit != nil, err: m.unfit}"),
		Detector: test("./quorum", "^TestOnlyMastersVote$"),
	}, {
		Name:     "connection-outlives-quarantine",
		Edits:    at("connection-life-counted", "ttl+c.connLife > c.cfg.MaxTTL", "ttl > c.cfg.MaxTTL"),
		Detector: test("./simulation", "^TestLeaseOverAnOldConnection$"),
	}, {
		Name:     "old-connections-are-asked",
		Edits:    at("connection-not-too-old", "d > a.life {", "d > a.life && false {"),
		Detector: test("./instance", "^TestNothingIsSentOnAnOldConnection$"),
	}, {
		Name:     "old-connections-live-on",
		Edits:    at("connections-are-renewed", "hard.ConnMaxLifetime = hardLifetime", "hard.ConnMaxLifetime = maxLifetime"),
		Detector: test("./instance", "^TestNothingIsSentOnAnOldConnection$"),
	}, {
		Name:     "confirmed-in-no-run",
		Edits:    at("seen-in-a-run", `if run == "" || run != q.id.Run() {`, "if false {"),
		Detector: test("./quorum", "^TestACommandInNoRunConfirmsNone$"),
	}, {
		Name:     "trust-in-any-run",
		Edits:    at("trust-one-run", "if id.RunID == q.id.RunID && id.ReplID == q.id.ReplID && id.Epoch == q.id.Epoch {", `if id.RunID != "" {`),
		Detector: test("./quorum", "^TestTrustIsForTheRunThatItFound$"),
	}, {
		Name: "probes-overtake",
		Edits: []Edit{
			{"probes-in-turn", "m.identify(ctx)", "m.probe(ctx)"},
			{"probe-keeps-its-turn", "defer m.endTurn()", "defer func() { if m.probing { m.endTurn() } }()"},
		},
		Detector: test("./quorum", "^TestProbesDoNotOvertakeEachOther$"),
	}, {
		Name: "quarantine-by-the-wall-clock",
		Edits: []Edit{
			{"quarantine-monotonic", "now.Mono", "time.Duration(now.Wall.UnixNano())"},
			{"quarantine-from-now", "now.Mono", "time.Duration(now.Wall.UnixNano())"},
			{"jump-quarantined", "now.Mono", "time.Duration(now.Wall.UnixNano())"},
		},
		Detector: test("./quorum", "^TestQuarantineEndsByTheMonotonicClock$"),
	}, {
		Name:     "jump-without-quarantine",
		Edits:    at("jump-quarantined", "q.jump = term{until: now.Mono + q.length, detail: jump.String()}", "return term{until: now.Mono + q.length, detail: jump.String()}.err(ClockJumped, now)"),
		Detector: scenario("S4"),
	}, {
		Name:     "no-clock-monitor",
		Edits:    at("clock-observed", "if !m.watchClock || server.IsZero() {", "if m.watchClock || server.IsZero() {"),
		Detector: scenario("S4"),
	}, {
		Name:     "small-jumps-add-up",
		Edits:    at("small-jumps-add-up", "m.bounds = bounds{low: max(aged.low, fresh.low), high: min(aged.high, fresh.high)}", "m.bounds = fresh"),
		Detector: test("./drift", "^TestMonitorAddsUpSmallSteps$|^TestMonitorNoticesASlew$"),
	}, {
		Name:     "grant-not-looked-at-again",
		Edits:    at("grant-checked-on-arrival", "if err := e.m.count(e.run, e.sent, received); err != nil {", "if err := error(nil); err != nil {"),
		Detector: test("./quorum", "^TestGrantsOfAnEarlierRunDoNotCount$"),
	}, {
		Name:     "another-runs-extension-counts",
		Edits:    at("same-run-counts", "case s.run != run:", "case false:"),
		Detector: test("./quorum", "^TestGrantsOfAnEarlierRunDoNotCount$"),
	}, {
		Name:     "jumped-clock-extends",
		Edits:    at("quarantine-checked", "case s.err != nil:", "case false:"),
		Detector: test("./quorum", "^TestAnExtensionDoesNotCountAClockThatJumped$"),
	}, {
		Name:     "run-not-sent",
		Edits:    at("run-is-sent", "e.sent, e.run, cmd.Run = now, run, run", `e.sent, e.run, cmd.Run = now, run, ""`),
		Detector: scenario("S7f"),
		Also:     []Detector{scenario("S28"), searching("between")},
	}, {
		Name:     "run-not-compared",
		Edits:    at("run-is-compared", " and string.find(info, 'master_replid:' .. id, 1, true)", ""),
		Detector: contract(),
	}, {
		Name:     "role-not-compared",
		Edits:    at("role-is-compared", "string.find(info, 'role:master', 1, true) and string", "string"),
		Detector: test("./instance", "^TestWritableReplicaIsNotAsked$"),
	}, {
		Name:     "epoch-not-compared",
		Edits:    at("epoch-is-compared", "if id ~= run then same = same and mark and string.find(mark, '/' .. run .. ' ', 1, true) end", "same = same"),
		Detector: test("./instance", "^TestTheEpochGoesOnWithAReplica$"),
	}}
}
