package mutants

// ofGuards breaks what a resource does with tokens.
func ofGuards() []Mutant {
	return []Mutant{{
		Name: "guard-passes-lower", Breaks: "a token below the largest seen is refused",
		Edits: edit("fencing/memory.go", "case t < k.highest: // needs", "case t+1 < k.highest: // needs"),
		Judge: guard(),
	}, {
		Name: "guard-refuses-equal", Breaks: "a holder's second write passes",
		Edits: edit("fencing/memory.go", "case t < k.highest: // needs", "case t <= k.highest && t != 1: // needs"),
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
		Edits: edit("fencing/memory.go", "case k.writing != nil && (hold || t > k.highest):", "case k.writing != nil && hold:"),
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
		Edits: edit("fencing/memory.go", "\tif err := Validate(resource, t); err != nil {\n", "\tif err := Validate(resource, t); err != nil && ctx == nil {\n"),
		Judge: guard(),
	}}
}
