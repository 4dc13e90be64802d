package designs

import (
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// and performs changes in turn.
func and(changes ...func(*simulation.Config)) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		for _, change := range changes {
			change(cfg)
		}
	}
}

// asIs is the library with quorum.Config{}.
func asIs(cfg *simulation.Config) {
	cfg.Guard, cfg.Locker = simulation.Unguarded, nil
	cfg.Quorum.Lab.Fencing, cfg.Quorum.Lab.RestartQuarantine, cfg.Quorum.Lab.ClockMonitor = quorum.On, quorum.On, quorum.On
}

func keptAlive(cfg *simulation.Config) { cfg.Quorum.KeepAlive = true }

func guarded(how simulation.Guarding) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Guard = how }
}

func redlocks() []Design {
	return []Design{{
		Name: "redlock", Title: "Redlock as the Redis document has it", Group: Redlock, Servers: 5,
		Source: "the Redis document, \"The Redlock Algorithm\" to \"Extending the lock\", in two pages of code",
		Breaks: "a pause, or a packet in flight, beyond the validity (S1, S2); a server whose clock jumps (S4), that restarts without fsync (S7), fails over (S8) or drops a key, above all on bare majorities (S26); clocks that differ by more than is allowed for (S6c); and a SET that arrives after its delete (S9), or a server that hung (S9b), blocks the lock for a TTL",
		Apply:  OnMajority(nil),
	}, {
		Name: "topup", Title: "this library with KeepAlive: extensions restore lost keys", Group: Redlock, Servers: 5,
		Source: "go-redsync/redsync issue 186 and pull requests 147 and 149, redisson/redisson issue 1445 ask for it",
		Breaks: "as default, but for S26 once an extension has succeeded; a holder that hangs keeps its lease, unless MaxLife is set (S11f)",
		Apply:  and(asIs, keptAlive),
	}, {
		Name: "default", Title: "this library, as quorum.Config{} gives it", Group: Redlock, Servers: 5,
		Source: "package quorum, \"What is guaranteed\": tokens are minted, but no resource checks them; callers extend leases. Antirez 2016, \"Is Redlock safe?\", asks operators for clocks that don't jump; the library monitors them (ClockMonitor)",
		Breaks: "pauses and late packets (S1, S2), and machines that are suspended with all their clocks; lost keys, on a bare majority until the lease is extended (S26); clocks that are set back make others wait (S4b)",
		Apply:  asIs,
	}, {
		Name: "token-write", Title: "+ a resource that checks tokens on writes", Group: Redlock, Servers: 5,
		Source: "Kleppmann 2016, \"Making the lock safe with fencing\"; tokens by this library (Fencing), checked by a guard before the resource",
		Breaks: "a late write between the next holder's read and its write, before the guard has seen a newer token (S24)",
		Apply:  and(asIs, guarded(simulation.GuardWrites)),
	}, {
		Name: "token-admit", Title: "+ a resource that sees the token before the first read", Group: Redlock, Servers: 5,
		Source: "package fencing: Admit, then Check",
		Breaks: "a request that is executed twice (S2b). Two clients may still believe that they have the lock, which does the data no harm",
		Apply:  and(asIs, guarded(simulation.GuardAdmits)),
	}, {
		Name: "idempotent", Title: "+ a resource that recognises repeated writes", Group: Redlock, Servers: 5,
		Source: "simulation.GuardIdempotent: package fencing, and writes that are numbered; antirez 2016, \"Is Redlock safe?\", makes the point that a resource which can compare could do with the lock's random value alone",
		Breaks: "no scenario here harms the data. The lock itself is that of default",
		Apply:  and(asIs, guarded(simulation.GuardIdempotent)),
	}}
}
