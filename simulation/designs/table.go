package designs

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// tair is the same as correct by Tair's commands. Without PX, CAS would remove the expiry.
var tair = Recipe{Acquire: setNXPX, Extend: Commands("CAS KEY VALUE VALUE PX MS"), Release: Commands("CAD KEY VALUE")}

// waiting is a lock that counts when one replica, of so many, has acknowledged it. It waits for Redisson's default
// timeout, and its lease counts from before the SET.
func waiting(have int) func(*simulation.Config) {
	recipe, wait := fromBefore(correct), Commands("WAIT 1 1000")
	recipe.Acquire, recipe.Extend = slices.Concat(recipe.Acquire, wait), slices.Concat(recipe.Extend, wait)
	return and(recipe.Apply, replicas(have))
}

// replicas gives each server replicas.
func replicas(n int) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Replicas = n }
}

// semiSynchronous has servers wait for a replica for as long as Tair's do by default.
func semiSynchronous(cfg *simulation.Config) { cfg.SemiSync = 500 * time.Millisecond }

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

// flaw is a row that differs from redlock in one thing.
func flaw(name, title, source, breaks string, change func(*Recipe)) Design {
	return Design{
		Name: name, Title: title, Group: Flaws, Servers: 5, Source: source, Breaks: breaks,
		Apply: OnMajority(change),
	}
}

// oneFlaw is a row that differs from setpx-cad in one thing.
func oneFlaw(name, title, source, breaks string, change func(*Recipe)) Design {
	return Design{
		Name: name, Title: title, Group: Flaws, Servers: 1, Source: source, Breaks: breaks,
		Apply: OnOneServer(with(correct, change)),
	}
}

// table returns every design of this package.
func table() []Design {
	return []Design{{
		Name: "setnx", Title: "SETNX, released by DEL", Group: OneServer, Servers: 1,
		Source: "the first step of most articles; the Redis command reference, SETNX, \"Design pattern: Locking with SETNX\", which discourages it",
		Breaks: "a holder that crashes (X1), or whose DEL gets lost, holds it forever; a server that loses data (S7, S26)",
		Apply:  OnOneServer(Recipe{Acquire: Commands("SETNX KEY VALUE"), Release: del, Lasts: true}),
	}, {
		Name: "setnx-expire", Title: "SETNX, then EXPIRE, released by DEL", Group: OneServer, Servers: 1,
		Source: "common in articles; redis/jedis issue 321; redis-py's Lock up to 2.10.5 (redis/redis-py issue 818); Redis in Action, 6.2.5 \"Locks with timeouts\", which fixes the crash by having losers check for a missing expiry",
		Breaks: "a crash or a lost packet between the two commands: held forever (S16); DEL without a comparison (S17)",
		Apply:  OnOneServer(Recipe{Acquire: Commands("SETNX KEY VALUE; EXPIRE KEY SECONDS"), Extend: expire, Release: del}),
	}, {
		Name: "setpx-del", Title: "SET NX PX, released by DEL", Group: OneServer, Servers: 1,
		Source: "common in articles; the Redis document, \"Correct Implementation with a Single Instance\", warns of it: \"Using just DEL is not safe\"",
		Breaks: "a late holder deletes, and extends, the next holder's lock (S17)",
		Apply:  OnOneServer(Recipe{Acquire: setNXPX, Extend: expire, Release: del}),
	}, {
		Name: "setpx-cad", Title: "SET NX PX, released by compare-and-delete", Group: OneServer, Servers: 1,
		Source: "the Redis document, \"Correct Implementation with a Single Instance\"; bsm/redislock and many others",
		Breaks: "the time that the SET took isn't counted (S3), nor is the time of a suspension (S15); a pause or a late packet after the check of the clock (S1, S2); a server that hangs or is down (S27), loses data (S7, S26), or whose clock is wrong (S4, S6)",
		Apply:  OnOneServer(correct),
	}, {
		Name: "tair-cas", Title: "SET NX PX, extended by CAS and released by CAD (Tair)", Group: OneServer, Servers: 1,
		Source: "Alibaba Cloud, \"Implement high-performance distributed locks by using TairString\"",
		Breaks: "as setpx-cad: these commands are quicker, but do the same",
		Apply:  OnOneServer(tair),
	}, {
		Name: "replica-async", Title: "setpx-cad on a master with replicas", Group: Replicated, Servers: 1,
		Source: "what Sentinel, Cluster and hosted Redis give by default; the Redis document, \"Why Failover-based Implementations Are Not Enough\"; go-redis, Jedis or bsm/redislock on any of these",
		Breaks: "a master that fails before its replica has the key (S8)",
		Apply:  and(OnOneServer(correct), replicas(2)),
	}, {
		Name: "wait-one", Title: "+ WAIT for the one replica there is", Group: Replicated, Servers: 1,
		Source: "the Redis command reference, WAIT, \"Consistency and WAIT\", which promises less than a failover to this replica keeps; redisson/redisson issue 3994 expects it of a lock",
		Breaks: "a replica that is behind or down: nobody gets the lock (S8e); and what breaks setpx-cad on the master alone (S4, S7, S27)",
		Apply:  waiting(1),
	}, {
		Name: "wait-some", Title: "+ WAIT for one of two replicas", Group: Replicated, Servers: 1,
		Source: "Redisson since issue 2669 (checkLockSyncedSlaves), in place of its RedLock; the Redis command reference, WAIT, \"Consistency and WAIT\", says that it isn't enough",
		Breaks: "the replica that has it need not be the one that takes over (S8)",
		Apply:  waiting(2),
	}, {
		Name: "semisync", Title: "setpx-cad on a master with semi-synchronous replication that falls back", Group: Replicated, Servers: 1,
		Source: "Alibaba Cloud, \"Change the synchronization mode of a Tair (Enterprise Edition) instance\": it degrades to asynchronous when the replica is unavailable or slower than the degradation threshold, 500 ms by default",
		Breaks: "a replica that lags or is cut off, and then a failover (S8)",
		Apply:  and(OnOneServer(correct), replicas(2), semiSynchronous),
	}, {
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
	}, {
		// Tokens with a guard on writes. A guard that admits tokens protects the data under any
		// order of tokens; with these it would refuse the current holder in favour of a late one.
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
	}, flaw("value-reused", "one random value for all tries",
		"redsync v4, Mutex.lockContext; redlock-py, Redlock.lock; rslock, LockManager.lock",
		"the rollback of one try is late and deletes the next try's keys (S9m)", func(r *Recipe) { r.ReuseValue = true }),
		flaw("release-granted", "a lost round is rolled back only where it was granted",
			"Redisson, RedissonMultiLock.tryLock: it unlocks what was acquired, and what timed out, but not where the connection broke; the document, step 5, demands all, and antirez/redlock-rb issue 3 says why; leandromoreira/redlock-rb issue 76 is a lock stuck by a timeout",
			"lost replies: keys that nobody knows of block the lock for a TTL (S10)", func(r *Recipe) { r.ReleaseGranted = true }),
		flaw("no-timeout", "no timeout for each server, and a wait for all of them",
			"rslock, exec_or_retry; redsync v4 on go-redis without ContextTimeoutEnabled; redisson/redisson issue 1636",
			"one server that hangs stops all clients for as long as it hangs (S27)", func(r *Recipe) { r.NoTimeout = true }),
		flaw("quorum-reachable", "a majority of the servers that are reachable is enough",
			"redlock-py before pull request 6 of SPSCommerce/redlock-py, which fixes it",
			"a partition: each side has its majority (X2)", func(r *Recipe) { r.QuorumOfReachable = true }),
		flaw("late-start", "the validity counts from the replies",
			"code that takes the time after the SET, as articles do; the document takes it first, step 1. node-redlock v5, acquire (mike-marcacci/node-redlock issue 296), and Redisson, RedissonMultiLock.tryLock, don't look whether the lock that they hand out has expired",
			"a pause between the commands and their replies (S3), on extension too", func(r *Recipe) { r.LateStart = true }),
		flaw("wall-clock", "the wall clock alone measures time",
			"redlock-py, time.time(); node-redlock v5, Date.now(); antirez 2016 asks for the monotonic clock",
			"the client's clock is set back (S5)", func(r *Recipe) { r.Elapsed = wall }),
		flaw("no-drift", "no allowance for clocks that run at different rates",
			"rueidislock; Redisson",
			"a client's clock that is slower than the servers' (S6b)", func(r *Recipe) { r.NoDrift = true }),
		flaw("extend-sets", "an extension sets the key where it is missing",
			"RedLock.net, Lua/Extend.lua; redsync v4 WithSetNXOnExtend (pull request 149); redlock-rb, lock(extend:) (issue 36)",
			"a late holder acquires the lock again and believes that it always had it (S11a)", func(r *Recipe) { r.ExtendSets = true }),
		oneFlaw("expire-at", "SET NX PXAT: the key expires at a time on the client's wall clock",
			"rueidislock, unless FallbackSETPX is set",
			"a server's clock that is ahead of the client's: the key is gone as soon as it is set (S4g, without any jump)",
			func(r *Recipe) {
				// The extension doesn't compare values, which makes no difference here.
				r.Acquire, r.Extend = Commands("SET KEY VALUE NX PXAT UNTIL"), Commands("PEXPIREAT KEY UNTIL")
			}),
		oneFlaw("setex", "SETEX, or PSETEX, as if it were SET NX EX",
			"redis/redis issue 5231, whose author was led there by the commands' names",
			"a second client: SETEX overwrites, so that every client that asks gets the lock (S32)",
			func(r *Recipe) { r.Acquire = Commands("SETEX KEY SECONDS VALUE") }),
		oneFlaw("get-then-del", "released by GET, a comparison in the client, and DEL",
			"common in articles; redis-py's Lock before 3.0 (redis/redis-py pull request 1031); eclipse-leshan/leshan pull request 837",
			"a pause or a late packet between the two commands: DEL deletes the next holder's key (S17b)",
			func(r *Recipe) { r.Release = Commands("GET KEY; DEL KEY") }),
		oneFlaw("same-value", "the same value for every client: a constant, a thread ID",
			"common in articles, with Thread.currentThread().getId(); redisson/redisson issue 4724, where clients had the same ID",
			"a late holder deletes, and extends, the next holder's lock: the comparison can't distinguish them (S17)",
			func(r *Recipe) { r.Value = "1" }),
		oneFlaw("spin", "tried again every 50 ms until it succeeds",
			"common in articles; redis/jedis issue 670, whose code calls itself after each pause",
			"a key that stays, or a server that can't be reached: the caller waits forever (S33)",
			func(r *Recipe) { r.Every = 50 * time.Millisecond }),
		{
			Name: "repeats-only", Title: "setpx-cad, and a resource that is idempotent, without tokens", Group: Flaws, Servers: 1,
			Source: "the advice to make operations idempotent instead of using tokens; idempotency keys of payment APIs",
			Breaks: "a late holder: its write is not a repetition (S1, S2)",
			Apply:  and(OnOneServer(correct), guarded(simulation.GuardRepeats)),
		}}
}
