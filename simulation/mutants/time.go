package mutants

// ofTime breaks how time is counted.
func ofTime() []Mutant {
	return []Mutant{{
		Name: "no-elapsed-check", Breaks: "a round that took longer than the TTL gives no lease",
		Edits: edit("quorum/round.go", "case r.stage == won && (validity <= 0 || validity < least):", "case r.stage == won && validity < 0 && least > 0:"),
		Judge: scenario("S3"),
	}, {
		Name: "late-start", Breaks: "a lease counts from before the first SET",
		Edits: edit("quorum/round.go", "\n\tnow := c.reader.Now()\n\tvalidity :=", "\n\tstart = c.reader.Now()\n\tnow := start\n\tvalidity :="),
		Judge: scenario("S3"),
	}, {
		Name: "wall-clock-only", Breaks: "time is the larger of two clocks' counts",
		Edits: edit("drift/instant.go", "return max(0, to.Mono-from.Mono, to.Wall.Sub(from.Wall))", "return max(0, to.Wall.Sub(from.Wall))"),
		Judge: scenario("S3b"),
	}, {
		Name: "monotonic-only", Breaks: "time is the larger of two clocks' counts",
		Edits: edit("drift/instant.go", "return max(0, to.Mono-from.Mono, to.Wall.Sub(from.Wall))", "return max(0, to.Mono-from.Mono)"),
		Judge: scenario("S3c"),
	}, {
		Name: "system-clock-monotonic", Breaks: "a step of the machine's wall clock is seen",
		Edits: edit("drift/instant.go", "return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}", "return Instant{Mono: now.Sub(r.base), Wall: now}"),
		Judge: test("./drift", "^TestTheMachinesWallClockIsSeen$"),
	}, {
		Name: "no-drift", Breaks: "an allowance is made for clocks that run apart",
		Edits: edit("drift/allowance.go", "saturate(int64(elapsed), a.Of(ttl))", "saturate(int64(elapsed), 0)"),
		Judge: scenario("S6b"),
	}, {
		Name: "drift-floor-only", Breaks: "the allowance grows with the TTL",
		Edits: edit("drift/allowance.go", "part := whole*a.PPM + (rest*a.PPM+million-1)/million", "part := 0 * (whole*a.PPM + (rest*a.PPM+million-1)/million)"),
		Judge: scenario("S6b"),
	}, {
		Name: "drift-without-floor", Breaks: "servers expire keys in whole milliseconds",
		Edits: edit("drift/allowance.go", "return saturate(part, a.Floor)", "return saturate(part, 0)"),
		Judge: scenario("S6-both/5126"),
	}, {
		Name: "context-ends-late", Breaks: "a lease's context ends at its deadline, not after it",
		Edits: edit("quorum/lease.go", "case <-l.hold.c.clock.After(lookAgain(left)):", "case <-l.hold.c.clock.After(lookAgain(left) + left/8 + 50*time.Millisecond):"),
		Judge: test("./quorum", "^TestContextEndsExactlyAtTheDeadline$"),
	}, {
		Name: "context-by-one-timer", Breaks: "a lease's end is noticed though timers stood still in a suspension",
		Edits: edit("quorum/lease.go", "return min(left, max(left/4, least))", "return max(left, least)"),
		Judge: test("./quorum", "^TestWatcherSeesAWallClockThatJumped$"),
	}, {
		Name: "context-outlives-loss", Breaks: "a lease's context ends when the lease is lost or released",
		Edits: edit("quorum/lease.go", "ends = slices.Collect(maps.Values(l.ends))", "ends = slices.Collect(maps.Values(l.ends))[:0]"),
		Judge: test("./quorum", "^TestContextEndsBeforeTheFirstDelete$"),
	}}
}
