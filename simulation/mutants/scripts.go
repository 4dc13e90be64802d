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
		Edits: edit("instance/grant.lua", "token <= clock then token = clock + 1 end", "token <= clock then token = counted end"),
		Judge: contract(),
	}, {
		Name: "set-not-compared", Breaks: "a client with another set of instances is refused",
		Edits: edit("instance/grant.lua", "if theirs ~= set and not", "if theirs == '' and not"),
		Judge: contract(),
	}, {
		Name: "long-text-repeated", Breaks: "a text that somebody wrote beside a counter fails no other lock's command",
		Edits: edit("instance/grant.lua", "if not theirs or #found > 512 then", "if not theirs then"),
		Judge: test("./instance", "^TestLongTextsHurtNoOtherLock$/^miniredis$"),
	}, {
		Name: "long-value-repeated", Breaks: "the same of a value that somebody wrote in a lock's place",
		Edits: edit("instance/look.lua", "string.sub(held, 1, 16384)", "held"),
		Judge: test("./instance", "^TestLongTextsHurtNoOtherLock$/^miniredis$"),
	}, {
		Name: "raise-without-holder", Breaks: "a raise is refused where the key isn't the lease's any more",
		Edits: edit("instance/raise.lua", "if held ~= ARGV[3] then", "if not held and false then"),
		Judge: contract(),
	}, {
		Name: "raise-lowers", Breaks: "a raise never lowers a counter",
		Edits: edit("instance/lift.lua", "if held < tonumber(token) then", "if held ~= tonumber(token) then"),
		Judge: contract(),
	}, {
		Name: "extend-without-compare", Breaks: "only the holder's key is extended",
		Edits: edit("instance/extend.lua", "if held ~= ARGV[3] then", "if not held then"),
		Judge: contract(),
	}, {
		Name: "extend-sets", Breaks: "an extension doesn't set a key that has gone",
		Edits: edit("instance/extend.lua", "if held ~= ARGV[3] then", "if not held then redis.call('SET', KEYS[1], ARGV[3]) held = ARGV[3] end\nif held ~= ARGV[3] then"),
		Judge: contract(),
	}, {
		Name: "release-without-compare", Breaks: "only the holder's key is deleted",
		Edits: edit("instance/release.lua", "if held[i] == ARGV[1 + i] then", "if held[i] then"),
		Judge: contract(),
	}, {
		Name: "restore-over-others", Breaks: "a lease isn't put back over somebody else's key",
		Edits: edit("instance/restore.lua", "if held and held ~= ARGV[3] then", "if held == '' then"),
		Judge: contract(),
	}, {
		Name: "restore-without-token", Breaks: "a lease is put back with its token",
		Edits: edit("instance/restore.lua", "lift(KEYS[2], KEYS[3], ARGV[5], ARGV[6], ARGV[8])", "lift(KEYS[2], KEYS[3], '1', ARGV[6], ARGV[8])"),
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
		Name: "spares-not-counted", Breaks: "tokens that are reserved are nobody else's",
		Edits: edit("instance/grant.lua", "pcall('INCRBY', counter, spare)", "pcall('INCRBY', counter, 0) + spare"),
		Judge: contract(),
	}, {
		Name: "spares-not-counted-anew", Breaks: "the same where a new period begins",
		Edits: edit("instance/grant.lua", "string.format('%.0f', token), 'PX'", "string.format('%.0f', token - spare), 'PX'"),
		Judge: test("./instance", "^TestReservedTokens$"),
	}, {
		Name: "spares-beyond-the-clock", Breaks: "reserved tokens never lift a counter above the clock",
		Edits: edit("instance/grant.lua", "math.min(wanted or 0, clock - token)", "math.min(wanted or 0, most - token)"),
		Judge: contract(),
	}, {
		Name: "grant-without-a-bound", Breaks: "no grant takes a counter far ahead of the clock",
		Edits: edit("instance/counter.lua", "math.min(clock + ARGV[6], 9007199254740991)", "9007199254740991"),
		Judge: contract(),
	}, {
		Name: "raised-without-a-grant", Breaks: "a counter that gives no token is left as it was found",
		Edits: edit("instance/grant.lua", "pcall('DEL', counter) else pcall('DECR', counter) end", "pcall('DEL', counter) end"),
		Judge: contract(),
	}, {
		Name: "lift-without-a-bound", Breaks: "no raise and no restore lifts a counter far ahead of the clock",
		Edits: edit("instance/lift.lua", "tonumber(token) > clock + ahead then", "tonumber(token) > 9007199254740991 then"),
		Judge: contract(),
	}, {
		Name: "bounds-in-one-list", Breaks: "each lock is counted for with its client's bound",
		Edits: edit("instance/batch.go", " || cmd.Ahead != first.Ahead", ""),
		Judge: test("./instance", "^TestCommandsOfOtherBoundsTravelApart$/^miniredis$"),
	}, {
		Name: "replace-without-counting", Breaks: "a hand-over's token is larger than the old one's",
		Edits: edit("instance/replace.lua", "token, spare, failure = count(KEYS[2], KEYS[3], found, known or run, nil, tonumber(ARGV[7]))", "token = tonumber(redis.call('GET', KEYS[2])) or clock"),
		Judge: contract(),
	}, {
		Name: "counters-run-not-compared", Breaks: "a counter that came back older than it was goes on from the clock",
		Edits: edit("instance/grant.lua", "run ~= '' and run ~= known", "run ~= '' and not known"),
		Judge: test("./instance", "^TestCounterOfAnotherRun$/^miniredis$"),
	}, {
		Name: "run-not-in-the-text", Breaks: "the same where this period had a grant in the other run",
		Edits: edit("instance/counter.lua", "/ span .. ' ' .. run", "/ span .. ' '"),
		Judge: test("./instance", "^TestCounterOfAnotherRun$/^miniredis$"),
	}, {
		Name: "another-run-lowers", Breaks: "a counter that is ahead of the clock isn't set back to it",
		Edits: edit("instance/grant.lua", " and token <= clock then", " then"),
		Judge: test("./instance", "^TestCounterAheadOfTheClock$/^miniredis$"),
	}, {
		Name: "run-forgotten", Breaks: "a client that doesn't know the run leaves what others know",
		Edits: edit("instance/grant.lua", "if run == '' then written = text .. known end", ""),
		Judge: test("./instance", "^TestRunUnknownToTheClient$/^miniredis$"),
	}, {
		Name: "runs-in-one-list", Breaks: "each lock is counted for in the run that its client knows",
		Edits: edit("instance/batch.go", " || cmd.Run != first.Run", ""),
		Judge: test("./instance", "^TestCommandsOfOtherRunsTravelApart$/^miniredis$"),
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
