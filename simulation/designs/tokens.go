package designs

import "github.com/redquorum/redlock/simulation"

// tokens are used with a guard on writes. A guard that admits tokens protects the data under any
// order of tokens; with these it would refuse the current holder in favour of a late one.
func tokens() []Design {
	return []Design{{
		Name: "token-after", Title: "a token from INCR, when it is first needed", Group: Tokens, Servers: 1,
		Source: "common in articles that add Kleppmann's token to a lock that gives none. Redisson's RedissonFencedLock.getToken() is a GET of the counter, whichever client incremented it last",
		Breaks: "a late holder fetches its token after the next holder did, and has the larger one (S20)",
		Apply:  and(OnOneServer(with(correct, func(r *Recipe) { r.Token = Command{"INCR", "COUNTER"} })), guarded(simulation.GuardWrites)),
	}, {
		Name: "token-naive-max", Title: "the largest of per-server counters", Group: Tokens, Servers: 5,
		Source: "FuelLabs/fuel-core, docs/poa/failover.md at 289dd7e: SET NX and INCR in one script on a majority, and the maximum; the holder's first write raises the counters that lag. Here the counters are not raised, as they are before that write",
		Breaks: "the shared server needn't be the one with the largest counter: the next holder gets the same token, or a smaller one (S22). FuelLabs' servers also compare the holder at the write",
		Apply: and(OnMajority(func(r *Recipe) {
			r.Acquire, r.LargestReply = Commands("SET KEY VALUE NX PX MS; INCR COUNTER"), true
		}), guarded(simulation.GuardWrites)),
	}}
}
