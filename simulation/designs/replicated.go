package designs

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
)

func replicated() []Design {
	return []Design{{
		Name: "replica-async", Title: "setpx-cad on a master with replicas", Group: Replicated, Servers: 1,
		Source: "what Sentinel, Cluster and hosted Redis give by default; the Redis document, \"Why Failover-based Implementations Are Not Enough\"; go-redis, Jedis or bsm/redislock on any of these",
		Breaks: "a master that fails before its replica has the key (S8)",
		Cure:   "redlock",
		Apply:  and(OnOneServer(correct), replicas(2)),
	},
		waiting("wait-one", "+ WAIT for the one replica there is", "redlock", 1,
			"the Redis command reference, WAIT, \"Consistency and WAIT\", which promises less than a failover to this replica keeps; redisson/redisson issue 3994 expects it of a lock",
			"a replica that is behind or down: nobody gets the lock (S8e); and what breaks setpx-cad on the master alone (S4, S7, S27)", fromBefore(waits).Apply),
		waiting("wait-some", "+ WAIT for one of two replicas", "redlock", 2,
			"Redisson since issue 2669 (checkLockSyncedSlaves), in place of its RedLock; the Redis command reference, WAIT, \"Consistency and WAIT\", says that it isn't enough",
			"the replica that has it need not be the one that takes over (S8)", fromBefore(waits).Apply),
		waiting("wait-late", "wait-one, with a lease that counts from after the WAIT", "wait-one", 1,
			"code that starts its clock when the lock call returns, as articles do; redisson/redisson issue 4211 measures WAITs of 20 to 300 ms",
			"a replica that is slow to answer: the server forgets the key that much earlier than the holder believes (S8f)", OnOneServer(waits)),
		{
			Name: "semisync", Title: "setpx-cad on a master with semi-synchronous replication that falls back", Group: Replicated, Servers: 1,
			Source: "Alibaba Cloud, \"Change the synchronization mode of a Tair (Enterprise Edition) instance\": it degrades to asynchronous when the replica is unavailable or slower than the degradation threshold, 500 ms by default",
			Breaks: "a replica that lags or is cut off, and then a failover (S8)",
			Cure:   "redlock",
			Apply:  and(OnOneServer(correct), replicas(2), semiSynchronous),
		}}
}

// waits is a lock that counts when a replica has acknowledged it. It waits for Redisson's default timeout.
var waits = with(correct, func(r *Recipe) {
	wait := Commands("WAIT 1 1000")
	r.Acquire, r.Extend = slices.Concat(r.Acquire, wait), slices.Concat(r.Extend, wait)
})

// waiting is a row of waits with so many replicas.
func waiting(name, title, cure string, have int, source, breaks string, apply func(*simulation.Config)) Design {
	return Design{
		Name: name, Title: title, Group: Replicated, Servers: 1, Source: source, Breaks: breaks,
		Cure: cure, Apply: and(apply, replicas(have)),
	}
}

// replicas gives each server replicas.
func replicas(n int) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Replicas = n }
}

// semiSynchronous has servers wait for a replica for as long as Tair's do by default.
func semiSynchronous(cfg *simulation.Config) { cfg.SemiSync = 500 * time.Millisecond }
