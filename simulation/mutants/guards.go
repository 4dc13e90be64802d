package mutants

// ofGuards breaks what a resource does with tokens.
func ofGuards() []Mutant {
	return []Mutant{{
		Name: "guard-passes-lower", Breaks: "a token below the largest seen is refused",
		Edits: edit("fencing/memory.go", "case t < k.highest:\n", "case t+1 < k.highest:\n"),
		Judge: guard(),
	}, {
		Name: "guard-refuses-equal", Breaks: "a holder's second write passes",
		Edits: edit("fencing/memory.go", "case t < k.highest:\n", "case t <= k.highest && t != 1:\n"),
		Judge: guard(),
	}, {
		Name: "guard-forgets", Breaks: "a guard remembers the largest token that it was shown",
		Edits: edit("fencing/memory.go", "\tk.highest = t // never", "\tk.highest = max(1, t-1) // never"),
		Judge: guard(),
	}, {
		Name: "guard-without-admit", Breaks: "a token is seen when its holder arrives, before it reads",
		Edits: edit("fencing/memory.go", "func (m *Memory) Admit(ctx context.Context, resource string, t Token) error {\n", "func (m *Memory) Admit(ctx context.Context, resource string, t Token) error {\n\tif Validate(resource, t) == nil {\n\t\treturn ctx.Err()\n\t}\n"),
		Judge: scenario("S24"),
	}, {
		Name: "admitted-during-a-write", Breaks: "a later holder waits for the write that is under way",
		Edits: edit("fencing/memory.go", "k.writing && (t > k.highest || t == k.highest && v == holding)", "k.writing && t >= k.highest && v == holding"),
		Judge: test("./fencing", "^TestAdmitWaitsForWrite$"),
	}, {
		Name: "redis-guard-passes-lower", Breaks: "the same for a guard that is kept in Redis",
		Edits: edit("fencing/redisguard/mark.lua", "if tonumber(token) < tonumber(held) then", "if tonumber(token) + 1 < tonumber(held) then"),
		Judge: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name: "redis-guard-compares-texts", Breaks: "tokens are compared as numbers",
		Edits: edit("fencing/redisguard/mark.lua", "if tonumber(token) < tonumber(held) then", "if token < held then"),
		Judge: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name: "redis-guard-forgets", Breaks: "a guard in Redis remembers the largest token that it was shown",
		Edits: edit("fencing/redisguard/mark.lua", "      redis.call('SET', key, token)\n", "      redis.call('SET', key, '1')\n"),
		Judge: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name: "token-without-check", Breaks: "a token that is none is refused",
		Edits: edit("fencing/memory.go", "\t\terr = m.config.Bound.Check(resource, t)\n\t}\n\tif err != nil {\n", "\t\terr = m.config.Bound.Check(resource, t)\n\t}\n\tif err != nil && ctx == nil {\n"),
		Judge: guard(),
	}, {
		Name: "smaller-token-first", Breaks: "a holder that writes back to back lets a later one in",
		Edits: edit("fencing/memory.go", "cmp.Compare(b.token, a.token)", "cmp.Compare(a.token, b.token)"),
		Judge: test("./fencing", "^TestLargerTokenGoesFirst$"),
	}, {
		Name: "guard-believes-any-token", Breaks: "a token that no server can have reached is refused",
		Edits: edit("fencing/bound.go", "t > limit {", "t > MaxToken {"),
		Judge: guard(),
	}, {
		Name: "guard-cannot-forget", Breaks: "an operator can repair a mark",
		Edits: edit("fencing/memory.go", "known, k.highest = k.highest != 0, 0", "known = k.highest != 0"),
		Judge: guard(),
	}, {
		Name: "mark-in-use-dropped", Breaks: "a mark that is written under isn't dropped for another",
		Edits: edit("fencing/memory.go", "\t\tif !k.writing {\n", "\t\tif k.highest > 0 {\n"),
		Judge: test("./fencing", "^TestRetention$"),
	}, {
		Name: "fresh-mark-dropped", Breaks: "a mark is kept for its retention",
		Edits: edit("fencing/memory.go", "Sub(k.shown) < m.config.Retention {", "Sub(k.shown) < 0 {"),
		Judge: test("./fencing", "^TestRetention$"),
	}, {
		Name: "redis-believes-any-token", Breaks: "the bound holds for a guard in Redis",
		Edits: edit("fencing/redisguard/guard.go", "g.config.Bound.Check(resource, t)", "fencing.Validate(resource, t)"),
		Judge: test("./fencing/redisguard", "^TestContract$/^miniredis$"),
	}, {
		Name: "redis-retention-shortens", Breaks: "a mark's time to live is never shortened",
		Edits: edit("fencing/redisguard/mark.lua", "math.max(tonumber(retention), left)", "tonumber(retention)"),
		Judge: test("./fencing/redisguard", "^TestRetentionNeverShortens$/^miniredis$"),
	}, {
		Name: "redis-permanent-mark-ends", Breaks: "a mark without an end stays without one",
		Edits: edit("fencing/redisguard/mark.lua", "if retention == '0' or left == -1 then", "if retention == '0' then"),
		Judge: test("./fencing/redisguard", "^TestRetentionNeverShortens$/^miniredis$"),
	}, {
		Name: "redis-prefixes-overlap", Breaks: "no two resources share a mark",
		Edits: edit("fencing/redisguard/config.go", "if !prefixes.MatchString(c.Prefix) {", "if !prefixes.MatchString(DefaultPrefix) {"),
		Judge: test("./fencing/redisguard", "^TestPrefixes$"),
	}, {
		Name: "redis-body-leaves-function", Breaks: "no part of a script runs outside the check",
		Edits: edit("fencing/redisguard/script.go", `markLua + "local body, fault = loadstring(" + chunk + ", '=script')\n" + runLua`, `"local fault = nil " + chunk[:0] + "local body = function(KEYS, ARGV) " + body + "\nend\n" + markLua + runLua`),
		Judge: test("./fencing/redisguard", "^TestBadLua$/^miniredis$"),
	}, {
		Name: "redis-body-runs-twice", Breaks: "an error of a script isn't taken for the server's",
		Edits: edit("fencing/redisguard/run.lua", "return {'failed', tostring(err or reply)}", "return redis.error_reply(tostring(err or reply))"),
		Judge: test("./fencing/redisguard", "^TestRunErrors$/^miniredis$"),
	}, {
		Name: "sql-guard-passes-lower", Breaks: "a token below the largest seen is refused in a database, too",
		Edits: edit("fencing/sqlguard/guard.go", "case n == 1 && held.Int64 == int64(t):", "case n == 1 && held.Int64 >= int64(t):"),
		Judge: test("./fencing/sqlguard", "^TestAnswers$"),
	}, {
		Name: "sql-guard-lowers", Breaks: "a mark in a database never falls",
		Edits: edit("fencing/sqlguard/dialect.go", `return "GREATEST"`, `return "LEAST"`),
		Judge: test("./fencing/sqlguard", "^TestStatements$"),
	}, {
		Name: "sql-believes-any-token", Breaks: "the bound holds for a guard in a database",
		Edits: edit("fencing/sqlguard/guard.go", "g.config.Bound.Check(resource, t)", "fencing.Validate(resource, t)"),
		Judge: test("./fencing/sqlguard", "^TestRefusedBeforeTheDatabase$"),
	}, {
		Name: "sql-row-believes-any-token", Breaks: "the same for a mark in the row itself",
		Edits: edit("fencing/sqlguard/table.go", "t.config.Bound.Check(t.config.Name, tok)", "fencing.Validate(t.config.Name, tok)"),
		Judge: test("./fencing/sqlguard", "^TestUpdateRefuses$"),
	}, {
		Name: "sql-row-passes-lower", Breaks: "a row is written under the largest token that it has seen",
		Edits: edit("fencing/sqlguard/table.go", `", 0) <= " + token, args, nil`, `", 0) <= 1 + " + token, args, nil`),
		Judge: test("./fencing/sqlguard", "^TestUpdate$"),
	}, {
		Name: "sql-table-by-search-path", Breaks: "all connections have one table of marks",
		Edits: edit("fencing/sqlguard/identifier.go", `case strings.Contains(table, "."):`, `case strings.Contains(table, ""):`),
		Judge: test("./fencing/sqlguard", "^TestStatements$"),
	}, {
		Name: "sqlite-names-are-texts", Breaks: "a column that isn't there is an error in SQLite",
		Edits: edit("fencing/sqlguard/identifier.go", `return "[" + name + "]", nil`, `return "\"" + name + "\"", nil`),
		Judge: test("./fencing/sqlguard", "^TestStatements$"),
	}, {
		Name: "sqlite-rowid-is-a-column", Breaks: "an update can't change a row's key",
		Edits: edit("fencing/sqlguard/table.go", `case "rowid", "oid", "_rowid_":`, `case "":`),
		Judge: test("./fencing/sqlguard", "^TestUpdateRefuses$"),
	}, {
		Name: "http-shows-the-unaccepted", Breaks: "only what is accepted leaves a mark",
		Edits: edit("fencing/httpguard/middleware.go", "\tif err := h.Accept(r, resource, t); err != nil {\n", "\t_ = h.Guard.Admit(r.Context(), resource, t)\n\tif err := h.Accept(r, resource, t); err != nil {\n"),
		Judge: test("./fencing/httpguard", "^TestOnlyWhatIsAcceptedLeavesAMark$"),
	}, {
		Name: "http-does-not-ask", Breaks: "a handler's own Accept decides",
		Edits: edit("fencing/httpguard/middleware.go", "h.Accept(r, resource, t); err != nil {", "AcceptAny(r, resource, t); err != nil {"),
		Judge: test("./fencing/httpguard", "^TestOnlyWhatIsAcceptedLeavesAMark$"),
	}, {
		Name: "http-reads-without-token", Breaks: "a token can be demanded of readers",
		Edits: edit("fencing/httpguard/config.go", "\t\treads = Admit\n", "\t\treads = AdmitIfSent\n"),
		Judge: test("./fencing/httpguard", "^TestRequireToken$"),
	}}
}
