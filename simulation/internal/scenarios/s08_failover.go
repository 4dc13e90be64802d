package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// lag keeps a replica behind its master until a moment.
func lag(server string, replica int, to time.Duration) simulation.Fault {
	return simulation.Fault{Kind: simulation.Lag, Server: server, Replica: replica, At: at(-10 * ms), For: to + 10*ms}
}

// failover puts a replica in a server's place.
func failover(server string, replica int, when time.Duration) simulation.Fault {
	return simulation.Fault{Kind: simulation.Failover, Server: server, Replica: replica, At: at(when)}
}

// waiting is the library without its quarantine, with votes that count when one of
// several replicas has them.
func waiting() designs.Design {
	return withSetting("wait", "this library with WAIT for one of several replicas, and without quarantine and clock monitor", "default", func(c *simulation.Config) {
		c.Quorum.ClockMonitor, c.Quorum.RestartQuarantine = quorum.Off, quorum.Off
		c.WaitReplicas = 1
	})
}

const failoverSource = "the Redis document, \"Why Failover-based Implementations Are Not Enough\"; redisson/redisson #5256 and #2669"

// failoverToLaggard is S8.
func failoverToLaggard() Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S8",
		Title: "A master fails, and the replica that takes over hasn't got the key",
		Steps: []string{
			"before: each server has two replicas, and the first of C's lags",
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it. C's second replica has the key within some ms",
			"50: C fails, and its first replica takes over",
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "a vote once given stands, also in the replica that takes over",
		Breaks:     "mutual exclusion. WAIT for one of several replicas and semi-synchronous replication don't help: the replica that acknowledged needn't be the one that takes over",
		Helps:      "WAIT for all replicas, which refuses the lock here and whenever a replica is down (S8e); a quarantine for servers whose run has changed: the replication ID tells a promotion, too",
		Source:     failoverSource,
		Base:       simulation.Config{Replicas: 2},
		Verdicts: expect(overlap.reaching("a server failed over", "a server lost acknowledged writes"), group([]string{"redlock", "unwatched", "wait", "setnx"}, unguarded)...).
			and(none.reaching("c1 refused", "c2 acquired", "a server failed over").without("c1 acquired"), "wait-one", "wait-all").
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a quarantine began: restarted", "a server failed over"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: append(unwatched(), waiting()),
	}, simulation.Fault{})
	s.Schedule = append(cut(-50*ms, 0, "DE"), lag("C", 1, time.Second), failover("C", 1, 50*ms))
	s.Alone = simulation.Schedule{lag("A", 1, time.Second), failover("A", 1, 50*ms)}
	return s
}

// failoverToEqual is S8b.
func failoverToEqual() Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S8b",
		Title: "A master fails, and the replica that takes over has the key",
		Steps: []string{
			"before: each server has two replicas, and the first of C's lags",
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C fails, and its second replica takes over, which is up to date",
			"200: c2 asks, and gets D and E",
		},
		Assumption: "a vote once given stands, and here it does",
		Breaks:     "nothing: S8 is a matter of chance, and WAIT for one of several replicas makes the odds better",
		Helps:      "luck, or a promotion that asks who is up to date",
		Source:     failoverSource,
		Base:       simulation.Config{Replicas: 2},
		Verdicts:   expect(refusedSecond.reaching("a server failed over"), group([]string{"setnx"}, unguarded, voting, fenced)...),
	}, simulation.Fault{})
	s.Schedule = append(cut(-50*ms, 0, "DE"), lag("C", 1, time.Second), failover("C", 2, 50*ms))
	s.Alone = simulation.Schedule{lag("A", 1, time.Second), failover("A", 2, 50*ms)}
	return s
}

// replicasWithOlderCounters is S8d.
func replicasWithOlderCounters() Scenario {
	return olderCounters(Scenario{
		ID:    "S8d",
		Title: "All servers fail over to replicas with older counters",
		Steps: []string{
			"0: each server's replica falls behind",
			"500: all masters fail, and their replicas take over",
		},
		Source: failoverSource,
		Base:   simulation.Config{Replicas: 1},
	}, simulation.Schedule{lag(simulation.Any, 1, time.Second), failover(simulation.Any, 1, 500*ms)})
}

// replicasBehind is S8c: what WAIT is good for, and how semi-synchronous replication
// gives in.
func replicasBehind() Scenario {
	return Scenario{
		ID:    "S8c",
		Title: "Both replicas lag, and the master fails",
		Steps: []string{
			"before: each server has two replicas, and A's are both cut off",
			"0: c1 asks A; 500: semi-synchronous replication has waited long enough and answers OK; 1 000: WAIT says that no replica has it, and the lock is given back",
			"1 200: A fails, and its first replica takes over",
			"1 500: c2 asks A",
			"3 000: c1 goes on under its lease, if it has one",
		},
		Assumption: "a vote once given stands, also in the replica that takes over",
		Breaks:     "mutual exclusion",
		Helps:      "WAIT, whose answer is looked at. For one of several replicas it is not enough (S8)",
		Source:     failoverSource + "; redisson/redisson #3994, where the answer wasn't looked at; Alibaba Cloud on Tair's semi-synchronous mode, which falls back after 500 ms",
		Base:       simulation.Config{Replicas: 2},
		Schedule:   simulation.Schedule{lag("A", 0, 1_400*ms), failover("A", 1, 1_200*ms)},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					until(c, 3*time.Second)
					if c.Valid(lease) {
						update(c, lease)
					}
					release(c, lease)
				}
			},
			"c2": turn(1_500*ms, 2*time.Second),
		}),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 acquired"), "replica-async", "setpx-cad", "setpx-del", "tair-cas").
			and(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 acquired", "semi-synchronous replication fell back"), "semisync").
			and(none.reaching("c1 refused", "c2 write").without("c1 acquired"), "wait-one", "wait-all", "wait-some", "wait-late"),
		Reached: []string{"a server failed over", "c2 acquired"},
	}
}
