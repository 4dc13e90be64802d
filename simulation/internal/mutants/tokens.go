package mutants

// ofTokens breaks the order of tokens.
func ofTokens() []Mutant {
	return []Mutant{{
		Name: "naive-maximum",
		Edits: []Edit{
			{"lower-is-raised", "case vote.Token < r.token:", "case vote.Token < 0*r.token:"},
			{"late-lower-is-raised", "vote.Token < r.token && (r.stage == raising || r.stage == won)", "vote.Token < 0*r.token"},
		},
		Detector: scenario("S22"),
	}, {
		Name: "token-minimum",
		Edits: []Edit{
			{"no-vote-above", " && vote.Token <= token", ""},
			{"largest-token", "vote.Token > token", "vote.Token < token"},
			{"first-is-new", "first = max(first, firstOf(other))", "first = vote.Token"},
			{"above-is-not-settled", "if vote.Token <= r.token && firstOf(vote) <= r.first() {", "if true {"},
		},
		Detector: scenario("S22"),
	}, {
		Name:     "largest-vote-of-all",
		Edits:    at("clock-bounds-token", "(vote.Clock.IsZero() || vote.Token == token ||", "(true ||"),
		Detector: test("./quorum", "^TestClockHoursAhead$"),
	}, {
		Name:     "first-token-of-one-vote",
		Edits:    at("first-is-new", "first = max(first, firstOf(other))", "first = firstOf(vote)"),
		Detector: test("./quorum", "^TestReservedTokensAreNewOnAQuorum$"),
	}, {
		Name:     "higher-straggler-counts",
		Edits:    at("above-is-not-settled", "if vote.Token <= r.token && firstOf(vote) <= r.first() {", "if true {"),
		Detector: test("./quorum", "^TestStragglerMakesUpForAFailedRaise$"),
	}, {
		Name:     "straggler-reserved-fewer",
		Edits:    at("reserved-is-settled", "if vote.Token <= r.token && firstOf(vote) <= r.first() {", "if vote.Token <= r.token {"),
		Detector: test("./quorum", "^TestStragglerThatReservedFewer$"),
	}, {
		Name:     "lower-straggler-settled",
		Edits:    at("late-has-the-token", "vote.Outcome == wire.Granted && vote.Token >= r.token {", "vote.Outcome == wire.Granted {"),
		Detector: scenario("M5"),
	}, {
		Name:     "raise-refused-counts",
		Edits:    at("raise-granted", "if ballot.Vote.Outcome == wire.Granted {", "if ballot.Vote.Outcome != wire.Failed {"),
		Detector: scenario("S7e"),
	}, {
		Name:     "raise-failed-counts",
		Edits:    at("raise-granted", "if ballot.Vote.Outcome == wire.Granted {", "if ballot.Vote.Outcome != wire.Refused {"),
		Detector: scenario("M1"),
	}, {
		Name:     "race-lost-early",
		Edits:    at("race-not-given-up", "agree+r.tally.N-voted < r.settled.Q {", "voted > 0 {"),
		Detector: test("./quorum", "^TestRoundWaitsForATokenThatSuits$"),
	}, {
		Name:     "bound-beyond-the-quarantine",
		Edits:    at("clock-outruns-counter", "return c.MaxTTL / 2 }", "return c.MaxTTL * 50 }"),
		Detector: test("./quorum", "^TestCommandsBoundTheCounter$"),
	}, {
		Name:     "token-unchecked",
		Edits:    at("grant-has-token", "if e.op != wire.Acquire || !e.fence {", "if true {"),
		Detector: test("./quorum", "^TestGrantWithoutATokenIsAFailedVote$"),
	}, {
		Name:     "reserved-unchecked",
		Edits:    at("reserved-as-asked", "case vote.Reserved < 0 || vote.Reserved > e.spare || !firstOf(vote).Valid():", "case !firstOf(vote).Valid():"),
		Detector: test("./quorum", "^TestGrantWithImpossibleSpareIsAFailedVote$"),
	}, {
		Name:     "spares-above-the-settled",
		Edits:    at("reserved-below-token", "func (r *round) first() fencing.Token { return r.token - fencing.Token(r.spare) }", "func (r *round) first() fencing.Token { return r.token }"),
		Detector: scenario("X5"),
	}, {
		Name:     "counter-stands-still",
		Edits:    at("counter-rises", "pcall('INCR', KEYS[n + i])", "tonumber(pcall('GET', KEYS[n + i]))"),
		Detector: contract(),
	}, {
		Name:     "counter-not-written",
		Edits:    at("counter-is-written", "pcall('SET', counter, string.format('%.0f', token), 'PX', 6 * quarter)", "{}"),
		Detector: contract(),
	}, {
		Name:     "spares-not-counted-anew",
		Edits:    at("reserved-in-the-counter", "string.format('%.0f', token), 'PX'", "string.format('%.0f', token - spare), 'PX'"),
		Detector: test("./instance", "^TestReservedTokens$"),
	}, {
		Name:     "counter-not-refreshed",
		Edits:    at("counter-lives-on", "string.format('%.0f', token), 'PX', 6 * quarter)", "string.format('%.0f', token), 'KEEPTTL')"),
		Detector: test("./instance", "^TestCounterOutlivesItsGrants$/^miniredis$"),
	}, {
		Name:     "lost-counter-starts-low",
		Edits:    at("lost-counter-from-clock", "token <= clock then token = clock + 1 end", "token <= clock then token = counted end"),
		Detector: contract(),
	}, {
		Name:     "counters-run-not-compared",
		Edits:    at("older-counter-from-clock", "run ~= '' and run ~= known", "run ~= '' and not known"),
		Detector: test("./instance", "^TestCounterOfAnotherRun$/^miniredis$"),
	}, {
		Name:     "another-run-lowers",
		Edits:    at("clock-never-lowers", " and token <= clock then", " then"),
		Detector: test("./instance", "^TestCounterAheadOfTheClock$/^miniredis$"),
	}, {
		Name:     "run-not-in-the-text",
		Edits:    at("run-is-written", "/ span .. ' ' .. run", "/ span .. ' '"),
		Detector: test("./instance", "^TestCounterOfAnotherRun$/^miniredis$"),
	}, {
		Name:     "run-forgotten",
		Edits:    at("known-run-stays", "if run == '' then written = text .. known end", ""),
		Detector: test("./instance", "^TestRunUnknownToTheClient$/^miniredis$"),
	}, {
		Name:     "grant-without-a-bound",
		Edits:    at("grant-bounded", "math.min(clock + ARGV[6], 9007199254740991)", "9007199254740991"),
		Detector: contract(),
	}, {
		Name:     "lift-without-a-bound",
		Edits:    at("lift-bounded", "tonumber(token) > clock + ahead then", "tonumber(token) > 9007199254740991 then"),
		Detector: contract(),
	}, {
		Name:     "raised-without-a-grant",
		Edits:    at("counter-undone", "pcall('DEL', counter) else pcall('DECR', counter) end", "pcall('DEL', counter) end"),
		Detector: contract(),
	}, {
		Name:     "spares-beyond-the-clock",
		Edits:    at("reserved-below-clock", "math.min(wanted or 0, clock - token)", "math.min(wanted or 0, most - token)"),
		Detector: contract(),
	}, {
		Name:     "spares-not-counted",
		Edits:    at("reserved-counted", "pcall('INCRBY', counter, spare)", "pcall('INCRBY', counter, 0) + spare"),
		Detector: contract(),
	}, {
		Name:     "replace-without-counting",
		Edits:    at("replace-counts", "token, spare, failure = count(KEYS[2], KEYS[3], found, known or run, nil, tonumber(ARGV[7]))", "token = tonumber(redis.call('GET', KEYS[2])) or clock"),
		Detector: contract(),
	}, {
		Name:     "raise-lowers",
		Edits:    at("raise-only-lifts", "if held < tonumber(token) then", "if held ~= tonumber(token) then"),
		Detector: contract(),
	}, {
		Name:     "lift-shortens",
		Edits:    at("raise-keeps-time", "if stale then left = 6 * quarter end", "left, stale = 6 * quarter, true"),
		Detector: test("./instance", "^TestLiftsKeepTheTime$/^miniredis$"),
	}, {
		Name:     "raise-without-holder",
		Edits:    at("raise-compares", "if held ~= ARGV[3] then", "if not held and false then"),
		Detector: contract(),
	}, {
		Name:     "restore-without-token",
		Edits:    at("restore-has-token", "lift(KEYS[2], KEYS[3], ARGV[5], ARGV[6], ARGV[8])", "lift(KEYS[2], KEYS[3], '1', ARGV[6], ARGV[8])"),
		Detector: contract(),
	}, {
		Name:     "bounds-in-one-list",
		Edits:    at("one-bound-per-list", " || cmd.Fence.Ahead != first.Fence.Ahead", ""),
		Detector: test("./instance", "^TestCommandsOfOtherBoundsTravelApart$/^miniredis$"),
	}, {
		Name:     "runs-in-one-list",
		Edits:    at("one-run-per-list", " || cmd.Run != first.Run", ""),
		Detector: test("./instance", "^TestCommandsOfOtherRunsTravelApart$/^miniredis$"),
	}}
}
