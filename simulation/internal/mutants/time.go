package mutants

// ofTime breaks the measurement of time.
func ofTime() []Mutant {
	return []Mutant{{
		Name: "late-start",
		Edits: []Edit{
			{"start-before-send", "start := c.reader.Now()", "start := drift.Instant{}"},
			{"round-time-counts", "validity :=", "start = now; validity :="},
		},
		Detector: scenario("S3"),
	}, {
		Name:     "no-elapsed-check",
		Edits:    at("validity-left", "case r.stage == won && (validity <= 0 || validity < least):", "case r.stage == won && validity < 0 && least > 0:"),
		Detector: scenario("S3"),
	}, {
		Name:     "wall-clock-only",
		Edits:    at("larger-of-two-clocks", "return max(0, to.Mono-from.Mono, to.Wall.Sub(from.Wall))", "return max(0, to.Wall.Sub(from.Wall))"),
		Detector: scenario("S3b"),
	}, {
		Name:     "monotonic-only",
		Edits:    at("larger-of-two-clocks", "return max(0, to.Mono-from.Mono, to.Wall.Sub(from.Wall))", "return max(0, to.Mono-from.Mono)"),
		Detector: scenario("S3c"),
	}, {
		Name:     "system-clock-monotonic",
		Edits:    at("wall-clock-alone", "return Instant{Mono: now.Sub(r.base), Wall: now.Round(0)}", "return Instant{Mono: now.Sub(r.base), Wall: now}"),
		Detector: test("./drift", "^TestTheMachinesWallClockIsSeen$"),
	}, {
		Name:     "no-drift",
		Edits:    at("drift-allowance", "saturate(int64(elapsed), a.Of(ttl))", "saturate(int64(elapsed), 0)"),
		Detector: scenario("S6b"),
	}, {
		Name:     "drift-floor-only",
		Edits:    at("drift-rate", "part := whole*a.PPM + (rest*a.PPM+million-1)/million", "part := 0 * (whole*a.PPM + (rest*a.PPM+million-1)/million)"),
		Detector: scenario("S6b"),
	}, {
		Name:     "drift-without-floor",
		Edits:    at("drift-floor", "return saturate(part, a.Floor)", "return saturate(part, 0)"),
		Detector: scenario("S6-both/5126"),
	}, {
		Name:     "context-ends-late",
		Edits:    at("context-at-deadline", "case <-l.hold.c.clock.After(lookAgain(left)):", "case <-l.hold.c.clock.After(lookAgain(left) + left/8 + 50*time.Millisecond):"),
		Detector: test("./quorum", "^TestContextEndsExactlyAtTheDeadline$"),
	}, {
		Name:     "context-by-one-timer",
		Edits:    at("context-after-suspension", "return min(left, max(left/4, least))", "return max(left, least)"),
		Detector: test("./quorum", "^TestWatcherSeesAWallClockThatJumped$"),
	}, {
		Name:     "context-outlives-loss",
		Edits:    at("context-ends-with-lease", "ends = slices.Collect(maps.Values(l.ends))", "ends = slices.Collect(maps.Values(l.ends))[:0]"),
		Detector: test("./quorum", "^TestContextEndsBeforeTheFirstDelete$"),
	}}
}
