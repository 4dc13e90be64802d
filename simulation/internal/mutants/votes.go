package mutants

// ofVotes breaks how votes are cast and counted.
func ofVotes() []Mutant {
	return []Mutant{{
		Name:     "half-is-enough",
		Edits:    at("two-quorums-meet", "n/2 + 1", "(n + 1) / 2"),
		Detector: scenario("S18"),
	}, {
		Name:     "quorum-unchecked",
		Edits:    at("quorum-is-majority", "c.Quorum < least || c.Quorum > n", "c.Quorum < least-n || c.Quorum > n"),
		Detector: test("./quorum", "^TestQuorumUnderTheMajorityIsAnError$"),
	}, {
		Name:     "quorum-of-reachable",
		Edits:    at("quorum-of-all", "case t.Granted >= t.Q:", "case t.Granted > (t.N-t.Failed)/2:"),
		Detector: scenario("S4"),
	}, {
		Name:     "failed-is-granted",
		Edits:    at("unknown-is-no-grant", "t.Failed++", "t.Granted++"),
		Detector: scenario("S4"),
	}, {
		Name:     "value-reused",
		Edits:    at("value-per-round", "_, err := io.ReadFull(c.random, c.drawn[:])", "var err error; if c.drawn == ([20]byte{}) { _, err = io.ReadFull(c.random, c.drawn[:]) }"),
		Detector: scenario("S9m"),
	}, {
		Name:     "set-without-nx",
		Edits:    at("free-key-only", "'NX', 'PX', ttl)", "'PX', ttl)"),
		Detector: contract(),
	}, {
		Name:     "settle-without-nx",
		Edits:    at("free-key-only-settle", "'NX', 'PX', ttl)", "'PX', ttl)"),
		Detector: contract(),
	}, {
		Name:     "plain-set-without-nx",
		Edits:    at("free-key-only-unfenced", `&cmd.Value, "NX", "PX", &c.ttl)`, `&cmd.Value, "PX", &c.ttl)`),
		Detector: contract(),
	}, {
		Name:     "names-twice",
		Edits:    at("one-name-one-instance", "if j, twice := seen[name]; twice {", "if j, twice := seen[name]; twice && j < 0 {"),
		Detector: test("./quorum", "^TestNewRefusesBadInstances$"),
	}, {
		Name:     "duplicates-unnoticed",
		Edits:    at("one-server-one-vote", "taken && owner != member {", "taken && owner != member && false {"),
		Detector: test("./quorum", "^TestOneServerUnderTwoNamesVotesOnce$"),
	}, {
		Name:     "set-not-sent",
		Edits:    at("set-is-sent", " Set: c.cfg.Set,", ""),
		Detector: scenario("S14"),
	}, {
		Name:     "set-not-compared",
		Edits:    at("set-is-compared", "if theirs ~= set and not", "if theirs == '' and not"),
		Detector: contract(),
	}, {
		Name:     "max-ttl-not-agreed",
		Edits:    at("set-has-max-ttl", `" MaxTTL=" + s.MaxTTL.String()`, `" MaxTTL=0s"`),
		Detector: test("./quorum", "^TestClientsAgreeOnMaxTTL$"),
	}, {
		Name:     "replicas-not-counted",
		Edits:    at("replicas-have-it", "if n < int64(cfg.Replicas) {", "if n < 0 {"),
		Detector: test("./instance", "^TestReplicas$"),
	}, {
		Name:     "refusal-is-a-grant",
		Edits:    at("outcome-as-answered", "if a.outcome == scriptGranted || a.outcome == scriptReplaced {", "if a.outcome != scriptOtherSet {"),
		Detector: contract(),
	}, {
		Name:     "nonce-unchecked",
		Edits:    at("answer-has-nonce", "!bytes.Equal(s.raw[:n], s.prefix[:n])", "n < 0"),
		Detector: test("./instance", "^TestGarbage$"),
	}}
}
