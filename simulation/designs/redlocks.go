package designs

import "github.com/redquorum/redlock/simulation"

func redlocks() []Design {
	const these = "this library's quorum package"
	return []Design{{
		Name: "redlock", Title: "Redlock as the Redis document has it", Group: Redlock, Servers: 5,
		Source: "the Redis document, \"The Redlock Algorithm\" to \"Releasing the Lock\"; run by " + these + " with Fencing, RestartQuarantine and ClockMonitor Off, and no keys restored on extension. " +
			"It differs from the letter of the document as described in package quorum, \"Differences from the Redis document\" 1 to 4, for the better",
		Breaks: "a pause, or a packet in flight, beyond the validity (S1, S2); a server whose clock jumps (S4), that restarts without fsync (S7), fails over (S8) or drops a key (S26), above all on bare majorities (S19); clocks that differ by more than is allowed for (S6); a server that is listed twice (S13)",
		Cure:   "token-admit",
		Apply:  asDocument,
	}, {
		Name: "quarantine", Title: "+ recently started servers don't vote", Group: Redlock, Servers: 5,
		Source: "the Redis document, \"Performance, Crash Recovery and fsync\": delayed restarts, here enforced by the clients (RestartQuarantine)",
		Breaks: "as redlock, but for S7, S8 and S13; eviction isn't a restart (S26)",
		Apply:  and(asDocument, quarantine),
	}, {
		Name: "monitor", Title: "+ servers whose clock jumped don't vote", Group: Redlock, Servers: 5,
		Source: "antirez 2016, \"Is Redlock safe?\", asks operators for clocks that don't jump; the Redis document, \"Disclaimer about consistency\" 2, says that they do; " + these + " monitors them (ClockMonitor)",
		Breaks: "as quarantine, but for S4; a client that starts after the jump can't notice it",
		Apply:  and(asDocument, quarantine, monitor),
	}, {
		Name: "topup", Title: "+ kept alive, and restored on servers that lack it", Group: Redlock, Servers: 5,
		Source: "go-redsync/redsync issue 186 and pull requests 147 and 149, redisson/redisson issue 1445 ask for it; " + these + " does it with each extension (KeepAlive)",
		Breaks: "as monitor, but for S19 once an extension has succeeded; a holder that hangs keeps its lease, unless MaxLife is set (S11f)",
		Apply:  and(asDocument, quarantine, monitor, topUp),
	}, {
		Name: "default", Title: "this library, as quorum.Config{} gives it", Group: Redlock, Servers: 5,
		Source: "package quorum, \"What is guaranteed\": tokens are minted, but no resource checks them; callers extend leases",
		Breaks: "pauses and late packets (S1, S2), and machines that are suspended with all their clocks; lost keys (S26), and a bare majority until the lease is extended (S19); clocks that are set back make others wait (S4b)",
		Cure:   "token-admit",
		Apply:  asIs,
	}, {
		Name: "token-write", Title: "+ a resource that checks tokens on writes", Group: Redlock, Servers: 5,
		Source: "Kleppmann 2016, \"Making the lock safe with fencing\"; tokens by " + these + " (Fencing), checked by a guard before the resource",
		Breaks: "a late write between the next holder's read and its write, before the guard has seen a newer token (S24)",
		Cure:   "token-admit",
		Apply:  and(asIs, guarded(simulation.GuardWrites)),
	}, {
		Name: "token-admit", Title: "+ a resource that sees the token before the first read", Group: Redlock, Servers: 5,
		Source: "package fencing: Admit, then Check",
		Breaks: "a request that is executed twice (S2b). Two clients may still believe that they have the lock, which does the data no harm",
		Cure:   "idempotent",
		Apply:  and(asIs, guarded(simulation.GuardAdmits)),
	}, {
		Name: "idempotent", Title: "+ a resource that recognises repeated writes", Group: Redlock, Servers: 5,
		Source: "simulation.GuardIdempotent: package fencing, and writes that are numbered; antirez 2016, \"Is Redlock safe?\", makes the point that a resource which can compare could do with the lock's random value alone",
		Breaks: "no scenario here harms the data. The lock itself is that of default",
		Apply:  and(asIs, guarded(simulation.GuardIdempotent)),
	}}
}
