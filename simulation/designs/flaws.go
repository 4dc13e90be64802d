package designs

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

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

func flaws() []Design {
	return []Design{
		flaw("value-reused", "one random value for all tries",
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
			"the client's clock is set back (S5)", func(r *Recipe) { r.Clock = Wall }),
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
		},
	}
}
