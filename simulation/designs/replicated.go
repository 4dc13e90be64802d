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
		Apply:  and(OnOneServer(correct), replicas(2)),
	},
		waiting("wait-one", "+ WAIT for the one replica there is", 1,
			"the Redis command reference, WAIT, \"Consistency and WAIT\", which promises less than a failover to this replica keeps; redisson/redisson issue 3994 expects it of a lock",
			"a replica that is behind or down: nobody gets the lock (S8e); and what breaks setpx-cad on the master alone (S4, S7, S27)"),
		waiting("wait-some", "+ WAIT for one of two replicas", 2,
			"Redisson since issue 2669 (checkLockSyncedSlaves), in place of its RedLock; the Redis command reference, WAIT, \"Consistency and WAIT\", says that it isn't enough",
			"the replica that has it need not be the one that takes over (S8)"),
		{
			Name: "semisync", Title: "setpx-cad on a master with semi-synchronous replication that falls back", Group: Replicated, Servers: 1,
			Source: "Alibaba Cloud, \"Change the synchronization mode of a Tair (Enterprise Edition) instance\": it degrades to asynchronous when the replica is unavailable or slower than the degradation threshold, 500 ms by default",
			Breaks: "a replica that lags or is cut off, and then a failover (S8)",
			Apply:  and(OnOneServer(correct), replicas(2), semiSynchronous),
		}}
}

// waiting is a lock that counts when one replica, of so many, has acknowledged it. It waits for Redisson's default
// timeout, and its lease counts from before the SET.
func waiting(name, title string, have int, source, breaks string) Design {
	recipe := fromBefore(with(correct, func(r *Recipe) {
		wait := Commands("WAIT 1 1000")
		r.Acquire, r.Extend = slices.Concat(r.Acquire, wait), slices.Concat(r.Extend, wait)
	}))
	return Design{
		Name: name, Title: title, Group: Replicated, Servers: 1, Source: source, Breaks: breaks,
		Apply: and(recipe.Apply, replicas(have)),
	}
}

// replicas gives each server replicas.
func replicas(n int) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Replicas = n }
}

// semiSynchronous has servers wait for a replica for as long as Tair's do by default.
func semiSynchronous(cfg *simulation.Config) { cfg.SemiSync = 500 * time.Millisecond }
