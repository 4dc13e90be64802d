package mutants

// ofVotes breaks how a round is counted.
func ofVotes() []Mutant {
	return []Mutant{{
		Name: "half-is-enough", Breaks: "two quorums share an instance",
		Edits: edit("quorum/majority.go", "return Majority{N: n, Q: n/2 + 1}", "return Majority{N: n, Q: (n + 1) / 2}"),
		Judge: scenario("S18"),
	}, {
		Name: "quorum-unchecked", Breaks: "a Quorum below the majority is refused",
		Edits: edit("quorum/config.go", "c.Quorum < least || c.Quorum > n", "c.Quorum < least-n || c.Quorum > n"),
		Judge: test("./quorum", "^TestQuorumUnderTheMajorityIsAnError$"),
	}, {
		Name: "timeout-without-end", Breaks: "an InstanceTimeout that no TTL allows is refused, however large",
		Edits: edit("quorum/config.go", "\tif c.InstanceTimeout > maxMaxTTL {", "\tif false {"),
		Judge: test("./quorum", "^TestConfigRefusesBadValues$"),
	}, {
		Name: "quorum-of-reachable", Breaks: "the quorum is one of all instances",
		Edits: []Edit{
			{"quorum/majority.go", "case t.Granted >= t.Q:", "case t.Granted > (t.N-t.Failed)/2:"},
		},
		Judge: scenario("S4"),
	}, {
		Name: "failed-is-granted", Breaks: "an unknown vote is not counted as a grant",
		Edits: edit("quorum/majority.go", "\t\tt.Failed++\n", "\t\tt.Granted++\n"),
		Judge: scenario("S4"),
	}, {
		Name: "failed-is-refused", Breaks: "an unknown vote is no refusal: what it may have set is deleted",
		Edits: edit("quorum/hold.go", "if sets && !vote.Unsent {", "if false && sets && !vote.Unsent {"),
		Judge: scenario("S10"),
	}, {
		Name: "waits-for-all", Breaks: "a round is decided as soon as it can be",
		Edits: edit("quorum/majority.go", "case t.Granted >= t.Q:", "case t.Granted >= t.Q && t.Granted+t.Refused+t.Failed == t.N:"),
		Judge: test("./quorum", "^TestHungMinorityCostsNothing$"),
	}, {
		Name: "value-reused", Breaks: "each round has a value of its own",
		Edits: []Edit{
			{"quorum/coordinator.go", "\trandom   io.Reader\n", "\trandom   io.Reader\n\tvalue    string\n"},
			{"quorum/coordinator.go", "\tvalue := string(digits[:])\n", "\tc.randomMu.Lock()\n\tdefer c.randomMu.Unlock()\n\tif c.value == \"\" {\n\t\tc.value = string(digits[:])\n\t}\n\tvalue := c.value\n"},
		},
		Judge: scenario("S9m"),
	}, {
		Name: "rollback-where-granted", Breaks: "a lost round is deleted on all instances, whatever they said",
		Edits: edit("quorum/hold.go", "func (k mark) absent() bool { return !k.there && k.coming == 0 }", "func (k mark) absent() bool { return !k.there }"),
		Judge: scenario("S10"),
	}, {
		Name: "no-rollback", Breaks: "a lost round leaves nothing behind",
		Edits: edit("quorum/round.go", "\t\tr.rollBack(ctx)\n", ""),
		Judge: scenario("S9"),
	}, {
		Name: "rollback-on-callers-context", Breaks: "a caller that was cancelled leaves no keys behind",
		Edits: []Edit{
			{"quorum/round.go", "r.hold.release(r.ctx, nil, func", "r.hold.release(ctx, nil, func"},
			{"quorum/hold.go", "func (d *deletion) begin(now drift.Instant) {\n", "func (d *deletion) begin(now drift.Instant) {\n\tif err := d.errand.ctx.Err(); err != nil {\n\t\td.report(d.i, Ballot{Instance: d.errand.m.name, Vote: Vote{Err: err}})\n\t\td.hold.ended(d.i)\n\t\treturn\n\t}\n"},
		},
		Judge: test("./quorum", "^TestCancelledCallerLeavesNoKeys$"),
	}, {
		Name: "errors-cancel-others", Breaks: "one instance's error costs no other's vote",
		Edits: []Edit{
			{"quorum/hold.go", "\tfanned errgroup.Group\n", "\tfanned *errgroup.Group\n\tctx    context.Context\n"},
			{"quorum/hold.go", "\th.c, h.key, h.value, h.spots = c, key, value, spots\n", "\th.c, h.key, h.value, h.spots = c, key, value, spots\n\th.fanned, h.ctx = errgroup.WithContext(context.Background())\n"},
			{"quorum/hold.go", "ctx: ctx, group: &h.fanned, use: use, to: to}", "ctx: h.ctx, group: h.fanned, use: use, to: to}"},
			{"quorum/errand.go", "\t\te.Receive(e.m.inst.Do(ctx, cmd))\n\t\treturn nil\n", "\t\tvote := e.m.inst.Do(ctx, cmd)\n\t\te.Receive(vote)\n\t\treturn vote.Err\n"},
		},
		Judge: test("./quorum", "^TestOneErrorCostsNoOtherVote$"),
	}, {
		Name: "no-one-first", Breaks: "after a split round one instance is asked before the others",
		Edits: edit("quorum/waiting.go", "w.split = !w.split && t.granted > 0 && t.refused > 0", "w.split = false && t.granted > 0 && t.refused > 0"),
		Judge: test("./quorum", "^TestRoundAfterASplitAsksOneInstanceFirst$"),
	}, {
		Name: "one-first-for-ever", Breaks: "a stale key on the instance that is asked first blocks nobody for ever",
		Edits: edit("quorum/waiting.go", "w.split = !w.split && t.granted > 0 && t.refused > 0", "w.split = w.split || t.granted > 0 && t.refused > 0"),
		Judge: test("./simulation/mutants/trial", "^TestKeyThatStaysOnOneServer$"),
	}, {
		Name: "no-timeout", Breaks: "each instance has a time-out",
		Edits: edit("quorum/errand.go", "\te.m.starter.Start(cmd, left, e)", "\te.m.starter.Start(cmd, left*1000, e)"),
		Judge: scenario("S7d"),
	}}
}
