package mutants

// ofServers breaks how servers are judged fit to vote.
func ofServers() []Mutant {
	return []Mutant{{
		Name: "no-restart-quarantine", Breaks: "a server that was restarted doesn't vote for a TTL",
		Edits: edit("quorum/quarantine.go", "\treturn q.restart.err(Restarted, now)\n}\n\nfunc (t term)", "\treturn nil\n}\n\nfunc (t term)"),
		Judge: scenario("M2"),
	}, {
		Name: "new-run-id-trusted", Breaks: "a server with another run id doesn't vote for a TTL",
		Edits: edit("quorum/quarantine.go", "case before != \"\" && id.RunID != before:", "case before == \"\" && id.RunID != before && false:"),
		Judge: scenario("S7"),
	}, {
		Name: "young-server-trusted", Breaks: "a server that came up a moment ago doesn't vote",
		Edits: edit("quorum/quarantine.go", "id.Uptime >= 0 && id.Uptime < q.length && !id.Durable:", "id.Uptime < 0 && id.Uptime < q.length && !id.Durable:"),
		Judge: test("./quorum", "^TestServersThatJustCameUpDoNotVote$"),
	}, {
		Name: "quarantine-too-short", Breaks: "a quarantine lasts for the longest TTL",
		Edits: edit("quorum/coordinator.go", "quarantine{length: length}", "quarantine{length: length / 1000}"),
		Judge: scenario("M2"),
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
			{"quorum/quarantine.go", "until: now.Mono + q.length, detail: fmt.Sprintf(\"it doesn't", "until: time.Duration(now.Wall.UnixNano()) + q.length, detail: fmt.Sprintf(\"it doesn't"},
			{"quorum/quarantine.go", "until: now.Mono + q.length, detail: fmt.Sprintf(\"its run id", "until: time.Duration(now.Wall.UnixNano()) + q.length, detail: fmt.Sprintf(\"its run id"},
			{"quorum/quarantine.go", "until: now.Mono + q.length - id.Uptime", "until: time.Duration(now.Wall.UnixNano()) + q.length - id.Uptime"},
		},
		Judge: test("./quorum", "^TestQuarantineEndsByTheMonotonicClock$"),
	}, {
		Name: "vote-not-looked-at-again", Breaks: "a vote counts only from a server that was found fit after its connection was opened",
		Edits: edit("quorum/errand.go", "s := e.m.standing(ballot.Vote.Epoch, received)", "s := standing{judged: true, life: e.life}"),
		Judge: scenario("S7"),
	}, {
		Name: "plain-vote-not-looked-at-again", Breaks: "the same for instances that are no Starters",
		Edits: edit("quorum/member.go", "if err := m.mayCount(ctx, ballot.Vote.Epoch, cmd.Life); err != nil {\n\t\treturn", "if err := error(nil); err != nil {\n\t\treturn"),
		Judge: scenario("S7"),
	}, {
		Name: "another-lifes-vote-counts", Breaks: "a vote counts only in the life of the server that it was asked for",
		Edits: edit("quorum/member.go", "if s.err == nil && s.life != life {", "if false && s.err == nil && s.life != life {"),
		Judge: test("./quorum", "^TestGrantForAnotherLifeDoesNotCount$"),
	}, {
		Name: "life-not-sent", Breaks: "a server that came back with an older counter starts from its clock",
		Edits: edit("quorum/errand.go", "e.sent, e.life, cmd.Life = now, life, life", "e.sent, e.life, cmd.Life = now, life, \"\""),
		Judge: scenario("S7f"),
	}, {
		Name: "plain-life-not-sent", Breaks: "the same for instances that are no Starters",
		Edits: edit("quorum/member.go", "\tballot = m.exchange(ctx, cmd)\n", "\tunknown := cmd\n\tunknown.Life = \"\"\n\tballot = m.exchange(ctx, unknown)\n"),
		Judge: test("./quorum", "^TestTokensRiseThoughAllCountersComeBackOlder$"),
	}, {
		Name: "hidden-run-id-untold", Breaks: "the user is told of a server that hides its run id",
		Edits: edit("quorum/member.go", "!m.toldHidden && id.RunID == \"\"", "!m.toldHidden && id.RunID == \"\" && id.Uptime < 0"),
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
		Edits: edit("quorum/lives.go", "taken && owner != member {", "taken && owner != member && false {"),
		Judge: test("./quorum", "^TestOneServerUnderTwoNamesVotesOnce$"),
	}, {
		Name: "names-twice", Breaks: "two instances of one name are refused",
		Edits: edit("quorum/coordinator.go", "if j, twice := seen[name]; twice {", "if j, twice := seen[name]; twice && j < 0 {"),
		Judge: test("./quorum", "^TestNewRefusesBadInstances$"),
	}, {
		Name: "set-not-sent", Breaks: "clients that disagree on the set of instances get no lock",
		Edits: edit("quorum/round.go", "Fence: c.cfg.Fencing == On, CounterTTL: c.cfg.CounterTTL, Set: c.cfg.Set,\n\t\t},", "Fence: c.cfg.Fencing == On, CounterTTL: c.cfg.CounterTTL,\n\t\t},"),
		Judge: scenario("S14"),
	}}
}
