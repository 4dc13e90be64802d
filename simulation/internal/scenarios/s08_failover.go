package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// lag keeps a replica of every server behind its master until a moment; 0 is all replicas.
func lag(replica int, to time.Duration) fault.Fault {
	return fault.Fault{Kind: fault.Lag, Server: fault.Any, Replica: replica, At: at(-10 * ms), For: to + 10*ms}
}

// failover promotes a replica of every server.
func failover(replica int, when time.Duration) fault.Fault {
	return fault.Fault{Kind: fault.Failover, Server: fault.Any, Replica: replica, At: at(when)}
}

const failoverSource = "the Redis document, \"Why Failover-based Implementations Are Not Enough\"; redisson/redisson #5256 and #2669"

func failovers() []Scenario {
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
		Assumption: votesStand + ", also on the replica that takes over",
		Breaks:     "mutual exclusion. WAIT for one of several replicas and semi-synchronous replication don't help: another replica may take over than the one that acknowledged",
		Helps:      "WAIT for all replicas, which refuses the lock here and whenever a replica is down (S8e); a quarantine for servers whose run has changed: the replication ID shows a promotion, too",
		Source:     failoverSource,
		Base:       simulation.Config{Replicas: 2},
		Verdicts: expect(overlap.reaching("a server failed over", "a server lost acknowledged writes"), "redlock setnx", unguarded).
			and(none.reaching("c1 refused", "c2 acquired", "a server failed over").without("c1 acquired"), "wait-one").
			and(quarantined.reaching("a server failed over"), "quarantine", watching, fenced),
	}, lag(1, time.Second), failover(1, 100*ms))}
}

const waitSource = "the Redis command reference, WAIT; redisson/redisson #4211, #4798 and #3859"

// waits are the forms of S8 about WAIT.
func waits() []Scenario {
	slow := lag(0, 2*time.Second)
	slow.By = 900 * ms
	overlap := breaks(record.StaleWrite, record.TwoHolders).reaching("c1 write", "c2 write")
	return []Scenario{{
		// What WAIT for all replicas costs.
		ID:       "S8e",
		Title:    "A replica is down, and nothing else",
		Unplayed: notAgain,
		Steps: []string{
			"before: the first replica of each server is down, and stays down for a minute",
			"0 to 20 000: c1 asks again and again",
		},
		Assumption: "all replicas are up",
		Breaks:     "liveness: nobody gets the lock while one replica is down",
		Helps:      "WAIT for fewer replicas, which a failover can break (S8), or a majority of servers without replicas",
		Source:     waitSource + ": locks fail, or take a second, while replicas are moved",
		Base:       simulation.Config{Replicas: 2},
		Schedule:   simulation.Schedule{lag(1, time.Minute)},
		Scripts:    clients(keepTrying(0, 20, 250*ms)),
		Free:       []Free{{Process: "c1", By: 20 * time.Second}},
		Verdicts: expect(breaks(record.NoProgress).reaching("c1 refused", "a WAIT fell short"), "wait-one wait-late").
			and(none.reaching("c1 write"), "replica-async wait-some semisync redlock default token-admit"),
	}, {
		ID:       "S8f",
		Title:    "The lease counts from after the WAIT, and the replicas are slow",
		Unplayed: notTiming,
		Steps: []string{
			"0: c1 sets the key, which lasts until 10 000; the replicas have it 900 later",
			"900: WAIT answers. Counted from here the lease is valid to 10 900, counted from before the SET to 10 000. Semi-synchronous replication answers at 500",
			"10 100: c2 acquires the lock",
			"10 400: c1 continues under its lease, if it finds it valid",
		},
		Assumption: "the lock call takes no time",
		Breaks:     "mutual exclusion, for as long as the WAIT took",
		Helps:      "counting from before the first command, as the Redis document does",
		Source:     waitSource,
		Base:       simulation.Config{Replicas: 2},
		Schedule:   simulation.Schedule{slow},
		Scripts:    clients(twoUpdates(0, 10_400*ms), turn(10_100*ms, 2*time.Second)),
		Verdicts: expect(overlap, "wait-late semisync").
			and(none.reaching("c1 write", "c2 write"), "wait-one wait-some replica-async redlock default token-admit"),
	}}
}

func splitBrain() []Scenario {
	return []Scenario{Scenario{
		ID:       "S31",
		Title:    "A replica takes over, and the old master continues beside it",
		Unplayed: notTwoMasters,
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E. C's replicas have the key within some ms",
			"5 000: one of C's replicas takes over. c1 still reaches the old master, which has no replica any more; all others reach the new one",
			"6 000: c1 extends, on A, B and the old C: a second key, which the new C doesn't get",
			"10 100: the first key has expired; c2 acquires the lock on the new C, D and E",
			"12 000: c1 continues under its lease, if it finds it valid",
		},
		Assumption: "there is one master",
		Breaks:     "mutual exclusion. Semi-synchronous replication has no replica to wait for, and doesn't wait",
		Helps:      "WAIT: the old master has no replica that could acknowledge, so nothing new counts there. A quarantine for servers whose run has changed. min-replicas-to-write stops the old master, after a while",
		Source:     "the Redis documentation, \"High availability with Redis Sentinel\", \"Example 2: basic setup with three boxes\": the old master keeps its clients; Jepsen on Redis Sentinel (2013)",
		Scripts:    clients(extending(6*time.Second, 12*time.Second), turn(10_100*ms, 5*time.Second)),
		Verdicts: expect(breaks(record.StaleWrite, record.TwoHolders).reaching("a lease was extended", "c1 write", "c2 write"), "replica-async semisync redlock").
			and(none.reaching("c1 noted", "c2 write"), "wait-one wait-some wait-late").
			and(none.reaching("a lease was extended", "c2 refused", "a quarantine began: restarted").without("c2 acquired"), "quarantine", watching, fenced),
		Reached: []string{"a server split in two", "c1 acquired"},
	}.atVictim(0, fault.Fault{Kind: fault.SplitBrain, Process: "c1", At: at(5 * time.Second)}), {
		// What one vote that is a deployment is worth, and what three are.
		ID:       "S31b",
		Title:    "The old master continues for a client that keeps its lease",
		Unplayed: notTwoMasters,
		Steps: []string{
			"0: c1 acquires the lock, and keeps it",
			"5 000: one of A's replicas takes over. c1 still reaches the old master, and nobody tells it",
			"from 10 000: c2 asks again and again. It may count on the new A from MaxTTL after it met the new run",
			"45 000: c1 continues under its lease, if it has it still",
		},
		Assumption: "a majority of the votes stands. Of one vote there is none",
		Breaks:     "mutual exclusion, if A is the only vote: the run shows c2 that A's master has changed, so c2 waits; but nothing ends c1's lease",
		Helps:      "three votes: B and C refuse c2. With one vote, connections that end and ask a majority of the Sentinels again: they bound how long c1 can reach the old master",
		Source:     "the Redis documentation, \"High availability with Redis Sentinel\"",
		Base:       simulation.Config{Replicas: 2},
		Schedule:   each("A", fault.Fault{Kind: fault.SplitBrain, Process: "c1", At: at(5 * time.Second)}),
		Scripts: clients(
			Script{until(0), acquire, update, keepAlive, until(45 * time.Second), ifValid(update), release},
			keepTrying(10*time.Second, 30, time.Second),
		),
		Verdicts: expect(breaks(record.StaleWrite, record.TwoHolders).reaching("a quarantine began: restarted", "c2 acquired", "c2 write"), "one-vote").
			and(none.reaching("c1 write", "c2 refused").without("c2 acquired"), "three-votes", "default"),
		Reached:  []string{"a server split in two", "c1 acquired", "a lease was extended"},
		Variants: votes(),
	}}
}

// votes are the library with one vote, and with three.
func votes() []designs.Design {
	servers := func(n int) func(*simulation.Config) { return func(c *simulation.Config) { c.Servers = n } }
	one := withSetting("one-vote", "this library with one instance, as a deployment under Sentinel may be", "default", servers(1))
	one.Servers = 1
	return []designs.Design{one, withSetting("three-votes", "this library with three instances", "default", servers(3))}
}
