package designs

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// waited is a recipe whose writes are followed by WAIT for one replica. If none has
// answered in time the lock isn't had, and is given back.
func waited(r recipe, timeout time.Duration) recipe {
	wait := func(s session) error {
		reply, err := s.do("WAIT", "1", fmt.Sprint(timeout.Milliseconds()))
		if err == nil && reply.Int < 1 {
			err = quorum.ErrNotReplicated
		}
		return err
	}
	acquire, extend := r.acquire, r.extend
	r.acquire = func(s session) (bool, error) {
		if had, err := acquire(s); err != nil || !had {
			return false, err
		}
		if err := wait(s); err != nil {
			_, _ = r.release(s) // if this fails it expires
			return false, err
		}
		return true, nil
	}
	r.extend = func(s session) (bool, error) {
		if extended, err := extend(s); err != nil || !extended {
			return false, err
		}
		err := wait(s)
		return err == nil, err
	}
	return r
}

func replicated() []Design {
	return []Design{{
		Name: "replica-async", Title: "setpx-cad on a master with replicas", Group: Replicated, Servers: 1,
		Source:   "what Sentinel, Cluster and hosted Redis give by default; the Redis document, \"Why Failover-based Implementations Are Not Enough\"; go-redis, Jedis or bsm/redislock on any of these",
		Promises: "as setpx-cad, and it is there when the master fails",
		Breaks:   "a master that fails before its replica has the key (S8)",
		Cure:     "redlock",
		Apply:    and(onOne(correct), replicas),
	}, {
		Name: "replica-wait", Title: "+ WAIT for one replica", Group: Replicated, Servers: 1,
		Source:   "Redisson since issue 2669 (checkLockSyncedSlaves), in place of its RedLock; the Redis command reference, WAIT, \"Consistency and WAIT\", says that it isn't enough",
		Promises: "the lock is had only when a replica has it",
		Breaks:   "the replica that has it need not be the one that takes over (S8; redisson/redisson issue 5256)",
		Cure:     "redlock",
		Apply:    and(onOne(waited(correct, time.Second)), replicas),
	}, {
		Name: "semisync", Title: "setpx-cad on a master with semi-synchronous replication that falls back", Group: Replicated, Servers: 1,
		Source:   "Alibaba Cloud, \"Change the synchronization mode of a Tair (Enterprise Edition) instance\": it degrades to asynchronous when the replica is unavailable or slower than the degradation threshold, 500 ms by default",
		Promises: "a write that was answered is on a replica",
		Breaks:   "a replica that lags or is cut off, and then a failover (S8)",
		Cure:     "redlock",
		Apply:    and(onOne(correct), replicas, semiSynchronous),
	}}
}

// replicas gives each server two of them, unless the run has some already: WAIT for
// one leaves another that may be the one that takes over.
func replicas(cfg *simulation.Config) {
	if cfg.Replicas == 0 {
		cfg.Replicas = 2
	}
}

// semiSynchronous lets servers wait for a replica for as long as Tair's do by
// default.
func semiSynchronous(cfg *simulation.Config) { cfg.SemiSync = 500 * time.Millisecond }
