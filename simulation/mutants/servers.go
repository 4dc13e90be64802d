package mutants

// ofServers breaks how servers are judged fit to vote.
func ofServers() []Mutant {
	return []Mutant{{
		Name: "no-restart-quarantine", Breaks: "a server that was restarted doesn't vote for a TTL",
		Edits: edit("quorum/quarantine.go", "\treturn q.restart.err(Restarted, now)\n}\n\nfunc (t term)", "\treturn nil\n}\n\nfunc (t term)"),
		Judge: scenario("M2"),
	}, {
		Name: "new-run-trusted", Breaks: "a server that is in another run doesn't vote for MaxTTL",
		Edits: []Edit{
			{"quorum/quarantine.go", "case before.RunID != \"\" && id.RunID != before.RunID:", "case false:"},
			{"quorum/quarantine.go", "case before.ReplID != \"\" && id.ReplID != before.ReplID:", "case false:"},
		},
		Judge: test("./quorum", "^TestAnotherRunIDIsQuarantined$"),
		Also:  []Judge{scenario("S29"), searching("between")},
	}, {
		Name: "promotion-unnoticed", Breaks: "a promotion without a restart is another run",
		Edits: edit("quorum/quarantine.go", "case before.ReplID != \"\" && id.ReplID != before.ReplID:", "case false:"),
		Judge: test("./quorum", "^TestAPromotionIsAnotherRun$"),
		Also:  []Judge{searching("between")},
	}, {
		Name: "replica-that-returns-trusted", Breaks: "a server that was seen as a replica was promoted when it is a master again",
		Edits: edit("quorum/quarantine.go", "id.Promoted || replica ||", "id.Promoted || replica && id.Promoted ||"),
		Judge: test("./quorum", "^TestAReplicaThatIsAMasterAgainIsQuarantined$"),
	}, {
		Name: "replicas-cost-votes", Breaks: "a replica that connects is no reason for a master to stay away",
		Edits: edit("quorum/quarantine.go", "id.Promoted || replica || drift.Elapsed(seen, now) >= backlogLife {", "id.Promoted || replica || drift.Elapsed(seen, now) >= 0 {"),
		Judge: test("./quorum", "^TestAReplicaThatConnectsCostsNoVote$"),
	}, {
		Name: "old-sight-trusted", Breaks: "a server that wasn't seen for long may have been promoted",
		Edits: edit("quorum/quarantine.go", " || drift.Elapsed(seen, now) >= backlogLife {", " || drift.Elapsed(seen, now) >= 1000*backlogLife {"),
		Judge: test("./quorum", "^TestAReplicaThatConnectsCostsNoVote$"),
	}, {
		Name: "lost-rights-for-ever", Breaks: "a server is asked again who it is when a command that names its run may not be sent",
		Edits: edit("quorum/errand.go", "\t\te.m.mistrust()\n", ""),
		Judge: test("./quorum", "^TestTheRunIsHiddenFromNowOn$"),
	}, {
		Name: "promotion-of-old-trusted", Breaks: "a client that starts waits for a server that was promoted at an unknown time",
		Edits: edit("quorum/quarantine.go", "case id.Promoted && id.Served < 0:", "case false:"),
		Judge: test("./quorum", "^TestWhoNeedsNoQuarantine$"),
	}, {
		Name: "spare-server-trusted", Breaks: "a server that has been up for long doesn't vote before its name has led to it for a quarantine",
		Edits: edit("quorum/quarantine.go", "case id.Served >= 0 && id.Served < q.length && (id.Uptime < 0 || id.Served < id.Uptime):", "case false:"),
		Judge: scenario("S29c"),
	}, {
		Name: "vouched-promotion-trusted", Breaks: "who vouches for a process doesn't vouch for its promotion",
		Edits: edit("quorum/quarantine.go", "case id.Vouched && !id.Promoted &&", "case id.Vouched &&"),
		Judge: test("./quorum", "^TestWhoNeedsNoQuarantine$"),
	}, {
		Name: "mark-outlives-its-run", Breaks: "a server's mark is of its present run",
		Edits: edit("instance/mark.lua", "if theirs ~= process then", "if theirs then process, id = theirs, marked elseif true then"),
		Judge: test("./instance", "^TestMark$"),
	}, {
		Name: "epoch-not-compared", Breaks: "a script does nothing where the mark is another one than the client knows",
		Edits: edit("instance/run.lua", "same = same and mark and string.find(mark, '/' .. run .. ' ', 1, true)", "same = same"),
		Judge: test("./instance", "^TestTheEpochGoesOnWithAReplica$"),
	}, {
		Name: "new-epoch-trusted", Breaks: "a server whose mark was left anew doesn't vote for MaxTTL",
		Edits: edit("quorum/quarantine.go", "case before.Epoch != \"\" && id.Epoch != before.Epoch:", "case false:"),
		Judge: test("./instance", "^TestTheEpochGoesOnWithAReplica$"),
	}, {
		Name: "epochs-end-with-replicas", Breaks: "the epoch goes on where a master only drew another replication ID",
		Edits: edit("instance/mark.lua", "if clean and lately and known == marked then", "if false then"),
		Judge: test("./instance", "^TestTheEpochGoesOnWithAReplica$"),
	}, {
		Name: "mark-left-anew", Breaks: "a mark says when the first client came, not the last one",
		Edits: edit("instance/mark.lua", "if not theirs then epoch", "if true then epoch"),
		Judge: test("./instance", "^TestMark$"),
	}, {
		Name: "mark-of-a-name-that-comes-back", Breaks: "who found another run under a name in between leaves the mark anew",
		Edits: edit("instance/mark.lua", "local clean = ARGV[2] == '' and ARGV[3] == '' or", "local clean = true or"),
		Judge: test("./instance", "^TestMarkOfAnAddressThatComesBack$"),
	}, {
		Name: "late-client-marks-anew", Breaks: "who finds late that a server was restarted leaves the mark of those who found it first",
		Edits: edit("instance/mark.lua", "clock - since < tonumber(ARGV[6])", "false"),
		Judge: test("./instance", "^TestContract$/^redis$/^mark$"),
	}, {
		Name: "starter-ends-the-epoch", Breaks: "the epoch goes on with a first replica though a client that starts came first",
		Edits: edit("instance/mark.lua", "theirs, was, before = nil, marked, epoch", "theirs, was, before = nil, '', ''"),
		Judge: test("./instance", "^TestAClientThatStartsDoesNotEndTheEpochOfAFirstReplica$"),
	}, {
		Name: "grants-are-no-evidence", Breaks: "a client whose lease rests on another server's vote leaves the mark anew",
		Edits: edit("quorum/member.go", "m.quarantine.confirmed(run, sent, true)", "m.quarantine.confirmed(run, sent, false)"),
		Judge: test("./quorum", "^TestEvidenceIsAsYoungAsTheLastGrant$"),
	}, {
		Name: "evidence-never-ends", Breaks: "a client whose leases have ended leaves no mark anew",
		Edits: edit("quorum/quarantine.go", "drift.Elapsed(q.voted, now) >= q.length {", "drift.AtLeast(q.voted, now) >= q.length {"),
		Judge: test("./quorum", "^TestASuspendedClientLeavesNoMarkAnew$"),
	}, {
		Name: "sight-is-evidence", Breaks: "a server that never had a vote is no reason to leave a mark anew",
		Edits: edit("quorum/quarantine.go", "if q.check(now) == nil {\n\t\tq.votedIn(sent)", "if true {\n\t\tq.votedIn(sent)"),
		Judge: test("./quorum", "^TestAWrongAddressAtTheStart$"),
	}, {
		Name: "epoch-not-asked-for-again", Breaks: "a client that could get no epoch asks for it again",
		Edits: edit("quorum/member.go", "!strings.Contains(s.run, \"@\")", "s.run == \"\""),
		Judge: test("./instance", "^TestAClientThatStartsOnAFullServerGetsAnEpochLater$"),
	}, {
		Name: "vouched-for-ever", Breaks: "who vouches for a run does so for the first quarantine only",
		Edits: edit("quorum/quarantine.go", "case id.Vouched && !id.Promoted && id.Uptime >= 0 && id.Uptime < q.length:", "case id.Vouched && !id.Promoted:"),
		Judge: test("./instance", "^TestAVouchedRunIDEndsAfterAQuarantine$"),
	}, {
		Name: "full-server-trusted", Breaks: "a server on which no mark can be left now isn't trusted for that",
		Edits: edit("instance/probe.go", "case ErrOutOfMemory, ErrMisconf, quorum.ErrNotMaster:", "case quorum.ErrNotMaster:"),
		Judge: test("./instance", "^TestMarkThatCannotBeKept$"),
	}, {
		Name: "mixed-answers-trusted", Breaks: "the answers to a probe are one server's",
		Edits: edit("instance/probe.go", "if p.id.RunID != \"\" && runID != p.id.RunID ||", "if false && runID != p.id.RunID || false &&"),
		Judge: test("./instance", "^TestAProbeOfTwoServersFails$"),
	}, {
		Name: "passing-errors-hide", Breaks: "a run is hidden only by a server that says so",
		Edits: edit("instance/probe.go", "return part != askServer && part != askReplication && part != askMark || ", "return true || "),
		Judge: test("./instance", "^TestAProxysErrorHidesNothing$|^TestAProxysErrorHidesNoMark$"),
	}, {
		Name: "hidden-for-ever", Breaks: "a server that hides its run is asked for it again",
		Edits: edit("quorum/member.go", "\tif hidden {\n\t\t_, _ = m.identify(ctx)", "\tif hidden && false {\n\t\t_, _ = m.identify(ctx)"),
		Judge: test("./quorum", "^TestAHiddenRunIsAskedForAgain$"),
	}, {
		Name: "suspensions-uncounted", Breaks: "the time since a server was seen in a run counts by two clocks",
		Edits: edit("quorum/quarantine.go", "drift.Elapsed(seen, now) >= backlogLife {", "now.Mono-seen.Mono >= backlogLife {"),
		Judge: test("./quorum", "^TestASuspendedClientDoesNotMissAPromotion$"),
	}, {
		Name: "young-server-trusted", Breaks: "a server that came up a moment ago doesn't vote",
		Edits: edit("quorum/quarantine.go", "case id.Uptime >= 0 && id.Uptime < q.length:", "case false:"),
		Judge: test("./quorum", "^TestServersThatJustCameUpDoNotVote$"),
	}, {
		Name: "second-server-trusted", Breaks: "two servers that answer under one name by turns have no vote",
		Edits: edit("quorum/quarantine.go", "case sighted != \"\" && sighted != id.ReplID:", "case false:"),
		Judge: test("./quorum", "^TestTwoServersUnderOneName$"),
	}, {
		Name: "replica-votes", Breaks: "a replica has no vote, writable or not",
		Edits: edit("quorum/member.go", "if err := roleError(id); err != nil {\n\t\t\tm.unfit = err", "if err := roleError(id); err != nil {\n\t\t\tm.unfit = nil"),
		Judge: test("./quorum", "^TestOnlyMastersVote$"),
	}, {
		Name: "quarantine-too-short", Breaks: "a quarantine lasts for the longest TTL",
		Edits: edit("quorum/coordinator.go", "quarantine{length: length,", "quarantine{length: length / 1000,"),
		Judge: scenario("M2"),
	}, {
		Name: "connection-outlives-quarantine", Breaks: "a TTL and the life of a connection are no longer than MaxTTL",
		Edits: edit("quorum/coordinator.go", "ttl+c.connLife > c.cfg.MaxTTL", "ttl > c.cfg.MaxTTL"),
		Judge: test("./simulation", "^TestLeaseOverAnOldConnection$"),
	}, {
		Name: "old-connections-are-asked", Breaks: "no command is sent on a connection that is older than ConnLife",
		Edits: edit("instance/greeting.go", "d > a.life {", "d > a.life && false {"),
		Judge: test("./instance", "^TestNothingIsSentOnAnOldConnection$"),
	}, {
		Name: "subscription-to-another-run", Breaks: "waiters are notified by the server that has the votes",
		Edits: edit("quorum/wakeup.go", "if h.run() != run {", "if h.run() != run && false {"),
		Judge: test("./quorum", "^TestEarIsLost$"),
	}, {
		Name: "confirmed-in-no-run", Breaks: "a server is seen in a run only by a command that names it",
		Edits: edit("quorum/quarantine.go", "if run == \"\" || run != q.id.Run() {", "if false {"),
		Judge: test("./quorum", "^TestATickInNoRunConfirmsNone$"),
	}, {
		Name: "trust-in-any-run", Breaks: "Trust is for the run that it found",
		Edits: edit("quorum/quarantine.go", "\tif id.RunID == q.id.RunID && id.ReplID == q.id.ReplID && id.Epoch == q.id.Epoch {\n", "\tif id.RunID != \"\" {\n"),
		Judge: test("./quorum", "^TestTrustIsForTheRunThatItFound$"),
	}, {
		Name: "probes-overtake", Breaks: "a server's answers are taken in in the order in which it gave them",
		Edits: []Edit{
			{"quorum/verify.go", "m.identify(ctx)", "m.probe(ctx)"},
			{"quorum/member.go", "\tdefer m.endTurn()\n", "\tdefer func() {\n\t\tif m.probing {\n\t\t\tm.endTurn()\n\t\t}\n\t}()\n"},
		},
		Judge: test("./quorum", "^TestProbesDoNotOvertakeEachOther$"),
	}, {
		Name: "quarantine-by-the-wall-clock", Breaks: "a quarantine doesn't end early when a wall clock is set forward",
		Edits: []Edit{
			{"quorum/quarantine.go", "left := t.until - now.Mono", "left := t.until - time.Duration(now.Wall.UnixNano())"},
			{"quorum/quarantine.go", "q.jump = term{until: now.Mono + q.length", "q.jump = term{until: time.Duration(now.Wall.UnixNano()) + q.length"},
			{"quorum/quarantine.go", "return term{until: now.Mono + q.length", "return term{until: time.Duration(now.Wall.UnixNano()) + q.length"},
		},
		Judge: test("./quorum", "^TestQuarantineEndsByTheMonotonicClock$"),
	}, {
		Name: "grant-not-looked-at-again", Breaks: "a grant counts only if nobody has found another run since it was asked for",
		Edits: edit("quorum/member.go", "if err := m.standingLocked(received).counts(run); err != nil {", "if err := error(nil); err != nil {"),
		Judge: test("./quorum", "^TestGrantsOfAnEarlierRunDoNotCount$"),
	}, {
		Name: "another-runs-extension-counts", Breaks: "an extension counts only in the run that was found last",
		Edits: edit("quorum/member.go", "\tcase s.run != run:\n", "\tcase false:\n"),
		Judge: test("./quorum", "^TestGrantsOfAnEarlierRunDoNotCount$"),
	}, {
		Name: "run-not-sent", Breaks: "a server is told in which run it is asked, and compares",
		Edits: edit("quorum/errand.go", "e.sent, e.run, cmd.Run = now, run, run", "e.sent, e.run, cmd.Run = now, run, \"\""),
		Judge: scenario("S7f"),
		Also:  []Judge{scenario("S28"), searching("between")},
	}, {
		Name: "run-not-compared", Breaks: "a script does nothing in another run than it was sent for",
		Edits: edit("instance/run.lua", " and string.find(info, 'master_replid:' .. id, 1, true)", ""),
		Judge: test("./instance", "^TestContract$/^tcp$"),
	}, {
		Name: "role-not-compared", Breaks: "a script does nothing on a replica, writable or not",
		Edits: edit("instance/run.lua", "string.find(info, 'role:master', 1, true) and string", "string"),
		Judge: test("./instance", "^TestWritableReplicaIsNotAsked$"),
	}, {
		Name: "old-connections-live-on", Breaks: "no connection goes on for long to a server that the name no longer leads to",
		Edits: edit("instance/options.go", "hard.ConnMaxLifetime = hardLifetime", "hard.ConnMaxLifetime = maxLifetime"),
		Judge: test("./instance", "^TestNothingIsSentOnAnOldConnection$"),
	}, {
		Name: "hidden-run-id-untold", Breaks: "the user is told of a server that hides its run id",
		Edits: edit("quorum/member.go", "!m.toldHidden && id.Run() == \"\"", "!m.toldHidden && id.Run() == \"\" && id.Uptime < 0"),
		Judge: scenario("S7f"),
	}, {
		Name: "no-clock-monitor", Breaks: "a server whose clock jumped doesn't vote for a TTL",
		Edits: edit("quorum/member.go", "\tif !m.watchClock || server.IsZero() {\n", "\tif m.watchClock || server.IsZero() {\n"),
		Judge: scenario("S4"),
	}, {
		Name: "jump-without-quarantine", Breaks: "a jump that was seen has its consequence",
		Edits: edit("quorum/quarantine.go", "\tq.jump = term{until: now.Mono + q.length, detail: jump.String()}\n\treturn q.jump.err(ClockJumped, now)", "\treturn term{until: now.Mono + q.length, detail: jump.String()}.err(ClockJumped, now)"),
		Judge: scenario("S4"),
	}, {
		Name: "small-jumps-add-up", Breaks: "many small steps of a clock are noticed as one large one is",
		Edits: edit("drift/monitor.go", "m.bounds = bounds{low: max(aged.low, fresh.low), high: min(aged.high, fresh.high)}", "m.bounds = fresh"),
		Judge: test("./drift", "^TestMonitorAddsUpSmallSteps$|^TestMonitorNoticesASlew$"),
	}, {
		Name: "duplicates-unnoticed", Breaks: "one server under two names votes once",
		Edits: edit("quorum/registry.go", "taken && owner != member {", "taken && owner != member && false {"),
		Judge: test("./quorum", "^TestOneServerUnderTwoNamesVotesOnce$"),
	}, {
		Name: "names-twice", Breaks: "two instances of one name are refused",
		Edits: edit("quorum/coordinator.go", "if j, twice := seen[name]; twice {", "if j, twice := seen[name]; twice && j < 0 {"),
		Judge: test("./quorum", "^TestNewRefusesBadInstances$"),
	}, {
		Name: "set-not-sent", Breaks: "clients that disagree on the set of instances get no lock",
		Edits: edit("quorum/round.go", "Fence: c.cfg.Fencing == On, CounterTTL: c.cfg.CounterTTL, Set: c.cfg.Set,\n\t\t\tAhead", "Fence: c.cfg.Fencing == On, CounterTTL: c.cfg.CounterTTL,\n\t\t\tAhead"),
		Judge: scenario("S14"),
	}}
}
