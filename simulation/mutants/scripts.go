package mutants

// ofScripts breaks what runs on the servers, and what is made of their answers. The
// simulation has a model of that, so that a server that runs the scripts is the judge.
func ofScripts() []Mutant {
	return []Mutant{{
		Name: "set-without-nx", Breaks: "a key that is taken stays who has it",
		Edits: edit("instance/acquire.lua", "'NX', 'PX', ttl)", "'PX', ttl)"),
		Judge: contract(),
	}, {
		Name: "plain-set-without-nx", Breaks: "the same without fencing",
		Edits: edit("instance/batch.go", "&cmd.Value, \"NX\", \"PX\", &c.ttl)", "&cmd.Value, \"PX\", &c.ttl)"),
		Judge: contract(),
	}, {
		Name: "set-without-expiry", Breaks: "a key whose holder dies is gone after its TTL",
		Edits: edit("instance/acquire.lua", ", 'PX', ttl)", ")"),
		Judge: contract(),
	}, {
		Name: "counter-stands-still", Breaks: "each grant has a larger token than those before it",
		Edits: edit("instance/acquire.lua", "  token = token + 1\n", ""),
		Judge: contract(),
	}, {
		Name: "counter-not-written", Breaks: "a grant's token is remembered",
		Edits: edit("instance/acquire.lua", "done = pcall('SET', key, decimal(token) .. ' ' .. set, 'PX', lasting)", "done = {}"),
		Judge: contract(),
	}, {
		Name: "lost-counter-starts-low", Breaks: "a counter that was lost starts above all tokens that it gave",
		Edits: edit("instance/acquire.lua", "token = clock", "token = 0"),
		Judge: contract(),
	}, {
		Name: "set-not-compared", Breaks: "a client with another set of instances is refused",
		Edits: edit("instance/acquire.lua", "if theirs and theirs ~= '' and theirs ~= set", "if theirs and theirs == '' and theirs ~= set"),
		Judge: contract(),
	}, {
		Name: "raise-without-holder", Breaks: "a raise is refused where the key isn't the lease's any more",
		Edits: edit("instance/raise.lua", "if held ~= ARGV[2] then", "if not held and false then"),
		Judge: contract(),
	}, {
		Name: "raise-lowers", Breaks: "a raise never lowers a counter",
		Edits: edit("instance/raise.lua", "if not token or token < tonumber(ARGV[3]) then", "if not token or token ~= tonumber(ARGV[3]) then"),
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
		Edits: edit("instance/release.lua", "elseif value == ARGV[", "elseif value ~= nil or value == ARGV["),
		Judge: contract(),
	}, {
		Name: "restore-over-others", Breaks: "a lease isn't put back over somebody else's key",
		Edits: edit("instance/restore.lua", "if held and held ~= ARGV[2] then", "if held == '' then"),
		Judge: contract(),
	}, {
		Name: "restore-without-token", Breaks: "a lease is put back with its token",
		Edits: edit("instance/restore.lua", "if not token or token < tonumber(ARGV[4]) then token", "if not token then token"),
		Judge: contract(),
	}, {
		Name: "replace-without-compare", Breaks: "a hand-over replaces its own old value, and nobody else's",
		Edits: edit("instance/replace.lua", "if redis.pcall('GET', KEYS[1]) ~= ARGV[3] then", "if ARGV[3] == '' then"),
		Judge: contract(),
	}, {
		Name: "replace-without-counting", Breaks: "a hand-over's token is larger than the old one's",
		Edits: edit("instance/replace.lua", " + tonumber(now[2])) + 1", " + tonumber(now[2]))"),
		Judge: contract(),
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
