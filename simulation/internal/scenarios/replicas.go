package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// lag keeps the first replica of every server behind its master until a moment.
func lag(to time.Duration) fault.Fault {
	return fault.Fault{Kind: fault.Lag, Server: fault.Any, Replica: 1, At: at(-10 * ms), For: to + 10*ms}
}

func replicaFaults() []Scenario {
	oneVote := withSetting("one-vote", "this library with one instance, as a deployment under Sentinel may be", "default", func(c *simulation.Config) { c.Servers = 1 })
	oneVote.Servers = 1
	return []Scenario{oneVoteLost(Scenario{
		ID:    "S8",
		Title: "A master fails, and the replica that takes over lacks the key",
		Steps: []string{
			"before: each server has two replicas, and the first of C's lags",
			"0: c1 acquires the lock on A, B and C; it can't reach D and E. C's second replica has the key within some ms",
			"100: C fails, and its first replica takes over",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Helps:  "WAIT for all replicas, which refuses the lock here and whenever a replica is down (S8e). With WAIT for one of several, or semi-synchronous replication, another replica may take over than the one that acknowledged. A quarantine for servers whose run has changed: the replication ID shows a promotion, too",
		Source: "the Redis document, \"Why Failover-based Implementations Are Not Enough\"; redisson/redisson #5256 and #2669",
		Base:   simulation.Config{Replicas: 2},
		Verdicts: expect(overlap.reaching("a server failed over", "a server lost acknowledged writes"), "redlock setnx", unguarded).
			and(none.reaching("c1 refused", "c2 acquired", "a server failed over").without("c1 acquired"), "wait-one").
			and(quarantined.reaching("a server failed over"), library),
	}, lag(time.Second), fault.Fault{Kind: fault.Failover, Server: fault.Any, Replica: 1, At: at(100 * ms)}), {
		// What WAIT for all replicas costs.
		ID:    "S8e",
		Title: "A replica is down, and nothing else",
		Steps: []string{
			"before: the first replica of each server is down, and stays down for a minute",
			"0 to 20 000: c1 asks again and again",
		},
		Helps:    "WAIT for fewer replicas, which a failover can break (S8), or a majority of servers without replicas",
		Source:   "the Redis command reference, WAIT; redisson/redisson #4211, #4798 and #3859: locks fail, or take a second, while replicas are moved",
		Base:     simulation.Config{Replicas: 2},
		Schedule: simulation.Schedule{lag(time.Minute)},
		Scripts:  clients(keepTrying(0, 20, 250*ms)),
		Free:     []Free{{Process: "c1", By: 20 * time.Second}},
		Verdicts: expect(breaks(record.NoProgress).reaching("c1 refused", "a WAIT fell short"), "wait-one").
			and(none.reaching("c1 write"), "replica-async wait-some semisync redlock default token-admit"),
	}, Scenario{
		ID:    "S31",
		Title: "A replica takes over, and the old master continues beside it",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E. C's replicas have the key within some ms",
			"5 000: one of C's replicas takes over. c1 still reaches the old master, which has no replica any more; all others reach the new one",
			"6 000: c1 extends, on A, B and the old C: a second key, which the new C doesn't get",
			"10 100: the first key has expired; c2 acquires the lock on the new C, D and E",
			"12 000: c1 continues under its lease, if it finds it valid",
		},
		Helps:  "WAIT: the old master has no replica that could acknowledge, so nothing new counts there; semi-synchronous replication doesn't wait then. A quarantine for servers whose run has changed. min-replicas-to-write stops the old master, after a while",
		Source: "the Redis documentation, \"High availability with Redis Sentinel\", \"Example 2: basic setup with three boxes\": the old master keeps its clients; Jepsen on Redis Sentinel (2013)",
		Scripts: clients(
			Script{until(0), acquire, update, until(6 * time.Second), extend, until(12 * time.Second), ifValid(update), release},
			turn(10_100*ms, 5*time.Second),
		),
		Verdicts: expect(breaks(record.StaleWrite, record.TwoHolders).reaching("a lease was extended", "c1 write", "c2 write"), "replica-async semisync redlock").
			and(none.reaching("c1 noted", "c2 write"), "wait-one wait-some").
			and(none.reaching("a lease was extended", "c2 refused", "a quarantine began: restarted").without("c2 acquired"), library),
		Reached: []string{"a server split in two", "c1 acquired"},
	}.atVictim(fault.Fault{Kind: fault.SplitBrain, Process: "c1", At: at(5 * time.Second)}), {
		// What one vote that is a deployment is worth, and what three are.
		ID:    "S31b",
		Title: "The old master continues for a client that keeps its lease",
		Steps: []string{
			"0: c1 acquires the lock, and keeps it",
			"5 000: one of A's replicas takes over. c1 still reaches the old master, and nobody tells it",
			"from 10 000: c2 asks again and again. It may count on the new A from MaxTTL after it met the new run",
			"45 000: c1 continues under its lease, if it has it still",
		},
		Helps:    "three votes: B and C refuse c2. With one vote the run shows c2 that A's master has changed, but nothing ends c1's lease: connections that end and ask a majority of the Sentinels again bound how long c1 can reach the old master",
		Source:   "the Redis documentation, \"High availability with Redis Sentinel\"",
		Base:     simulation.Config{Replicas: 2},
		Schedule: each("A", fault.Fault{Kind: fault.SplitBrain, Process: "c1", At: at(5 * time.Second)}),
		Scripts: clients(
			Script{until(0), acquire, update, keepAlive, until(45 * time.Second), ifValid(update), release},
			keepTrying(10*time.Second, 30, time.Second),
		),
		Verdicts: expect(breaks(record.StaleWrite, record.TwoHolders).reaching("a quarantine began: restarted", "c2 acquired", "c2 write"), "one-vote").
			and(none.reaching("c1 write", "c2 refused").without("c2 acquired"), "default"),
		Reached:  []string{"a server split in two", "c1 acquired", "a lease was extended"},
		Variants: []designs.Design{oneVote},
	}}
}
