package mutants

// ofGuards breaks a resource's checks of tokens.
func ofGuards() []Mutant {
	return []Mutant{{
		Name:     "guard-passes-lower",
		Edits:    at("guard-refuses-lower", "case t < k.highest:", "case t+1 < k.highest:"),
		Detector: guard(),
	}, {
		Name:     "guard-refuses-equal",
		Edits:    at("guard-passes-equal", "case t < k.highest:", "case t <= k.highest && t != 1:"),
		Detector: guard(),
	}, {
		Name:     "guard-forgets",
		Edits:    at("guard-remembers", "k.highest = t // never", "k.highest = max(1, t-1) // never"),
		Detector: guard(),
	}, {
		Name:     "guard-without-admit",
		Edits:    at("guard-admits-readers", "_, _, err := m.call(", "if Validate(resource, t) == nil { return ctx.Err() }; _, _, err := m.call("),
		Detector: scenario("S24"),
	}, {
		Name:     "admitted-during-a-write",
		Edits:    at("guard-waits-for-writes", "k.writing && (t > k.highest || t == k.highest && v == holding)", "k.writing && t >= k.highest && v == holding"),
		Detector: test("./fencing", "^TestAdmitWaitsForWrite$"),
	}, {
		Name:     "token-without-check",
		Edits:    at("guard-checks-tokens", "if err != nil {", "if err != nil && ctx == nil {"),
		Detector: guard(),
	}, {
		Name:     "smaller-token-first",
		Edits:    at("guard-largest-first", "cmp.Compare(b.token, a.token)", "cmp.Compare(a.token, b.token)"),
		Detector: test("./fencing", "^TestLargerTokenGoesFirst$"),
	}, {
		Name:     "guard-believes-any-token",
		Edits:    at("guard-bounds-tokens", "t > limit {", "t > MaxToken {"),
		Detector: guard(),
	}, {
		Name:     "guard-cannot-forget",
		Edits:    at("guard-can-be-repaired", "known, k.highest = k.highest != 0, 0", "known = k.highest != 0"),
		Detector: guard(),
	}, {
		Name:     "mark-in-use-dropped",
		Edits:    at("guard-keeps-writing-marks", "if !k.writing {", "if k.highest > 0 {"),
		Detector: test("./fencing", "^TestRetention$"),
	}, {
		Name:     "fresh-mark-dropped",
		Edits:    at("guard-retention", "Sub(k.shown) < m.config.Retention {", "Sub(k.shown) < 0 {"),
		Detector: test("./fencing", "^TestRetention$"),
	}, {
		Name:     "redis-guard-passes-lower",
		Edits:    at("redis-refuses-lower", "if tonumber(token) < tonumber(held) then", "if tonumber(token) + 1 < tonumber(held) then"),
		Detector: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name:     "redis-guard-compares-texts",
		Edits:    at("redis-compares-numbers", "if tonumber(token) < tonumber(held) then", "if token < held then"),
		Detector: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name:     "redis-guard-forgets",
		Edits:    at("redis-remembers", "redis.call('SET', key, token)", "redis.call('SET', key, '1')"),
		Detector: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name:     "redis-believes-any-token",
		Edits:    at("redis-bounds-tokens", "g.config.Bound.Check(resource, t)", "fencing.Validate(resource, t)"),
		Detector: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name:     "redis-retention-shortens",
		Edits:    at("redis-retention-grows", "math.max(tonumber(retention), left)", "tonumber(retention)"),
		Detector: test("./fencing/redisguard", "^TestRetentionNeverShortens$/^miniredis$"),
	}, {
		Name:     "redis-permanent-mark-ends",
		Edits:    at("redis-permanent-stays", "if retention == '0' or left == -1 then", "if retention == '0' then"),
		Detector: test("./fencing/redisguard", "^TestRetentionNeverShortens$/^miniredis$"),
	}, {
		Name:     "redis-prefixes-overlap",
		Edits:    at("redis-prefixes-apart", "if !prefixes.MatchString(c.Prefix) {", "if !prefixes.MatchString(DefaultPrefix) {"),
		Detector: test("./fencing/redisguard", "^TestPrefixes$"),
	}, {
		Name:     "redis-body-leaves-function",
		Edits:    at("redis-body-inside", `markLua + "local body, fault = loadstring(" + chunk + ", '=script')\n" + runLua`, `"local fault = nil " + chunk[:0] + "local body = function(KEYS, ARGV) " + body + "\nend\n" + markLua + runLua`),
		Detector: test("./fencing/redisguard", "^TestBadLua$/^miniredis$"),
	}, {
		Name:     "redis-body-runs-twice",
		Edits:    at("redis-body-once", "return {'failed', tostring(err or reply)}", "return redis.error_reply(tostring(err or reply))"),
		Detector: test("./fencing/redisguard", "^TestRunErrors$/^miniredis$"),
	}, {
		Name:     "sql-guard-passes-lower",
		Edits:    at("sql-refuses-lower", "case n == 1 && held.Int64 == int64(t):", "case n == 1 && held.Int64 >= int64(t):"),
		Detector: test("./fencing/sqlguard", "^TestAnswers$"),
	}, {
		Name:     "sql-guard-lowers",
		Edits:    at("sql-mark-rises", `return "GREATEST"`, `return "LEAST"`),
		Detector: test("./fencing/sqlguard", "^TestStatements$"),
	}, {
		Name:     "sql-believes-any-token",
		Edits:    at("sql-bounds-tokens", "g.config.Bound.Check(resource, t)", "fencing.Validate(resource, t)"),
		Detector: test("./fencing/sqlguard", "^TestRefusedBeforeTheDatabase$"),
	}, {
		Name:     "sql-row-believes-any-token",
		Edits:    at("sql-row-bounds-tokens", "t.config.Bound.Check(t.config.Name, tok)", "fencing.Validate(t.config.Name, tok)"),
		Detector: test("./fencing/sqlguard", "^TestUpdateRefuses$"),
	}, {
		Name:     "sql-row-passes-lower",
		Edits:    at("sql-row-refuses-lower", `", 0) <= " + token, args, nil`, `", 0) <= 1 + " + token, args, nil`),
		Detector: test("./fencing/sqlguard", "^TestUpdate$"),
	}, {
		Name:     "sql-table-by-search-path",
		Edits:    at("sql-one-table", `case strings.Contains(table, "."):`, `case strings.Contains(table, ""):`),
		Detector: test("./fencing/sqlguard", "^TestStatements$"),
	}, {
		Name:     "sqlite-names-are-texts",
		Edits:    at("sqlite-names-are-columns", `return "[" + name + "]", nil`, `return "\"" + name + "\"", nil`),
		Detector: test("./fencing/sqlguard", "^TestStatements$"),
	}, {
		Name:     "sqlite-rowid-is-a-column",
		Edits:    at("sqlite-rowid-is-the-key", `case "rowid", "oid", "_rowid_":`, `case "":`),
		Detector: test("./fencing/sqlguard", "^TestUpdateRefuses$"),
	}, {
		Name:     "http-shows-the-unaccepted",
		Edits:    at("http-marks-the-accepted", "if err := h.Accept(", "_ = h.Guard.Admit(r.Context(), resource, t); if err := h.Accept("),
		Detector: test("./fencing/httpguard", "^TestOnlyWhatIsAcceptedLeavesAMark$"),
	}, {
		Name:     "http-does-not-ask",
		Edits:    at("http-asks", "h.Accept(r, resource, t); err != nil {", "AcceptAny(r, resource, t); err != nil {"),
		Detector: test("./fencing/httpguard", "^TestOnlyWhatIsAcceptedLeavesAMark$"),
	}, {
		Name:     "http-reads-without-token",
		Edits:    at("http-readers-need-tokens", "reads = Admit", "reads = AdmitIfSent"),
		Detector: test("./fencing/httpguard", "^TestRequireToken$"),
	}}
}
