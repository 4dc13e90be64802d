package mutants

// ofScripts breaks what runs on the servers, and what is made of their answers. The
// simulation has a model of that, so that a server that runs the scripts is the judge.
func ofScripts() []Mutant {
	return []Mutant{{
		Name: "set-without-nx", Breaks: "a key that is taken stays who has it",
		Edits: edit("instance/acquire.lua", "'NX', 'PX', ttl)", "'PX', ttl)"),
		Judge: contract(),
	}, {
		Name: "settle-without-nx", Breaks: "the same where the counter was last raised in another period",
		Edits: edit("instance/settle.lua", "'NX', 'PX', ttl)", "'PX', ttl)"),
		Judge: contract(),
	}, {
		Name: "plain-set-without-nx", Breaks: "the same without fencing",
		Edits: edit("instance/batch.go", "&cmd.Value, \"NX\", \"PX\", &c.ttl)", "&cmd.Value, \"PX\", &c.ttl)"),
		Judge: contract(),
	}, {
		Name: "set-without-expiry", Breaks: "a key whose holder dies is gone after its TTL",
		Edits: edit("instance/settle.lua", ", 'PX', ttl)", ")"),
		Judge: contract(),
	}, {
		Name: "set-again-without-expiry", Breaks: "the same for a key that was locked in this period before",
		Edits: edit("instance/acquire.lua", ", 'PX', ttl)", ")"),
		Judge: contract(),
	}, {
		Name: "counter-stands-still", Breaks: "each grant has a larger token than those before it",
		Edits: edit("instance/acquire.lua", "pcall('INCR', KEYS[n + i])", "tonumber(pcall('GET', KEYS[n + i]))"),
		Judge: contract(),
	}, {
		Name: "counter-not-written", Breaks: "a grant's token is remembered",
		Edits: edit("instance/grant.lua", "pcall('SET', counter, string.format('%.0f', token), 'PX', 6 * quarter)", "{}"),
		Judge: contract(),
	}, {
		Name: "lost-counter-starts-low", Breaks: "a counter that was lost starts above all tokens that it gave",
		Edits: edit("instance/grant.lua", "token = clock + many", "token = counted"),
		Judge: contract(),
	}, {
		Name: "set-not-compared", Breaks: "a client with another set of instances is refused",
		Edits: edit("instance/grant.lua", "if theirs ~= set and not", "if theirs == '' and not"),
		Judge: contract(),
	}, {
		Name: "raise-without-holder", Breaks: "a raise is refused where the key isn't the lease's any more",
		Edits: edit("instance/raise.lua", "if held ~= ARGV[2] then", "if not held and false then"),
		Judge: contract(),
	}, {
		Name: "raise-lowers", Breaks: "a raise never lowers a counter",
		Edits: edit("instance/lift.lua", "if held < tonumber(token) then", "if held ~= tonumber(token) then"),
		Judge: contract(),
	}, {
		Name: "extend-without-compare", Breaks: "only the holder's key is extended",
		Edits: edit("instance/extend.lua", "if held ~= ARGV[2] then", "if not held then"),
		Judge: contract(),
	}, {
		Name: "extend-sets", Breaks: "an extension doesn't set a key that has gone",
		Edits: edit("instance/extend.lua", "if held ~= ARGV[2] then", "if not held then redis.call('SET', KEYS[1], ARGV[2]) held = ARGV[2] end\nif held ~= ARGV[2] then"),
		Judge: contract(),
	}, {
		Name: "release-without-compare", Breaks: "only the holder's key is deleted",
		Edits: edit("instance/release.lua", "if held[i] == ARGV[1 + i] then", "if held[i] then"),
		Judge: contract(),
	}, {
		Name: "restore-over-others", Breaks: "a lease isn't put back over somebody else's key",
		Edits: edit("instance/restore.lua", "if held and held ~= ARGV[2] then", "if held == '' then"),
		Judge: contract(),
	}, {
		Name: "restore-without-token", Breaks: "a lease is put back with its token",
		Edits: edit("instance/restore.lua", "lift(KEYS[2], KEYS[3], ARGV[4], ARGV[5])", "lift(KEYS[2], KEYS[3], '1', ARGV[5])"),
		Judge: contract(),
	}, {
		Name: "replace-without-compare", Breaks: "a hand-over replaces its own old value, and nobody else's",
		Edits: edit("instance/replace.lua", "if held and (replaced == '' or held ~= replaced) then", "if held and replaced == '' then"),
		Judge: contract(),
	}, {
		Name: "spare-takes-a-held-lock", Breaks: "who takes tokens to spare is refused where the lock is held",
		Edits: edit("instance/replace.lua", "if held and (replaced == '' or held ~= replaced) then", "if held and replaced ~= '' and held ~= replaced then"),
		Judge: contract(),
	}, {
		Name: "spares-not-counted", Breaks: "tokens that are taken to spare are nobody else's",
		Edits: edit("instance/batch.go", "1+cmd.Spare, &cmd.Value", "1, &cmd.Value"),
		Judge: contract(),
	}, {
		Name: "spares-start-low", Breaks: "a lost counter's tokens are all above those that it gave, the spare ones, too",
		Edits: edit("instance/grant.lua", "token = clock + many", "token = clock + 1"),
		Judge: contract(),
	}, {
		Name: "replace-without-counting", Breaks: "a hand-over's token is larger than the old one's",
		Edits: edit("instance/replace.lua", "token, failure = count(KEYS[2], KEYS[3], found, known or life, nil, tonumber(ARGV[6]))", "token = tonumber(redis.call('GET', KEYS[2])) or clock"),
		Judge: contract(),
	}, {
		Name: "life-not-compared", Breaks: "a counter that came back older than it was goes on from the clock",
		Edits: edit("instance/grant.lua", "life ~= '' and life ~= known", "life ~= '' and not known"),
		Judge: test("./instance", "^TestCounterOfAnotherLife$/^miniredis$"),
	}, {
		Name: "life-not-in-the-text", Breaks: "the same where this period had a grant in the other life",
		Edits: edit("instance/counter.lua", "/ span .. ' ' .. life", "/ span .. ' '"),
		Judge: test("./instance", "^TestCounterOfAnotherLife$/^miniredis$"),
	}, {
		Name: "another-life-lowers", Breaks: "a counter that is ahead of the clock isn't set back to it",
		Edits: edit("instance/grant.lua", " and token - many < clock then", " then"),
		Judge: test("./instance", "^TestCounterAheadOfTheClock$/^miniredis$"),
	}, {
		Name: "life-forgotten", Breaks: "a client that doesn't know the life leaves what others know",
		Edits: edit("instance/grant.lua", "if life == '' then written = text .. known end", ""),
		Judge: test("./instance", "^TestLifeUnknownToTheClient$/^miniredis$"),
	}, {
		Name: "lives-in-one-list", Breaks: "each lock is counted for in the life that its client knows",
		Edits: edit("instance/batch.go", " || cmd.Life != first.Life", ""),
		Judge: test("./instance", "^TestCommandsOfOtherLivesTravelApart$/^miniredis$"),
	}, {
		Name: "counter-not-refreshed", Breaks: "a counter outlives each grant by its whole time",
		Edits: edit("instance/grant.lua", "string.format('%.0f', token), 'PX', 6 * quarter)", "string.format('%.0f', token), 'KEEPTTL')"),
		Judge: test("./instance", "^TestCounterOutlivesItsGrants$/^miniredis$"),
	}, {
		Name: "lift-shortens", Breaks: "a raise takes no time from a counter",
		Edits: edit("instance/lift.lua", "if stale then left = 6 * quarter end", "left, stale = 6 * quarter, true"),
		Judge: test("./instance", "^TestLiftsKeepTheTime$/^miniredis$"),
	}, {
		Name: "failure-leaves-the-lock", Breaks: "a lock whose counter can't be raised isn't left set",
		Edits: edit("instance/settle.lua", "  call('DEL', lock)\n", ""),
		Judge: test("./instance", "^TestBadCounters$/^miniredis$"),
	}, {
		Name: "refusal-is-a-grant", Breaks: "a script's answer is read as it is meant",
		Edits: edit("instance/call.go", "if a.outcome == scriptGranted || a.outcome == scriptReplaced {", "if a.outcome != scriptOtherSet {"),
		Judge: contract(),
	}, {
		Name: "unsent-claimed", Breaks: "a command that may have been carried out isn't said to be unsent",
		Edits: edit("instance/call.go", "Unsent: !c.in.sealed, Err: err}", "Unsent: true, Err: err}"),
		Judge: test("./instance", "^TestGarbage$"),
	}, {
		Name: "nonce-unchecked", Breaks: "an answer to another question is recognised",
		Edits: edit("instance/reply.go", "!bytes.Equal(s.raw[:n], s.prefix[:n])", "n < 0"),
		Judge: test("./instance", "^TestGarbage$"),
	}, {
		Name: "replicas-not-counted", Breaks: "a grant that too few replicas have doesn't count",
		Edits: edit("instance/batch.go", "\tif n < int64(cfg.Replicas) {\n", "\tif n < 0 {\n"),
		Judge: test("./instance", "^TestReplicas$"),
	}}
}
