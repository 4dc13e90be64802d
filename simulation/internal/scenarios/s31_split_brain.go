package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func splitBrain() []Scenario {
	return []Scenario{Scenario{
		ID:    "S31",
		Title: "A replica takes over, and the old master continues beside it",
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
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("a lease was extended", "c1 write", "c2 write"), "replica-async semisync redlock unwatched").
			and(none.reaching("c1 noted", "c2 write"), "wait-one wait-all wait-some wait-late").
			and(none.reaching("a lease was extended", "c2 refused", "a quarantine began: restarted").without("c2 acquired"), "quarantine", watching, fenced),
		Reached:  []string{"a server split in two", "c1 acquired"},
		Variants: unwatched()[:1],
	}.atVictim(0, simulation.Fault{Kind: simulation.SplitBrain, Process: "c1", At: at(5 * time.Second)})}
}
