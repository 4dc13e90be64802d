package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

func bareMajority() []Scenario {
	return []Scenario{{
		ID:    "S19",
		Title: "A lease on a bare majority loses one of its keys",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E until 500",
			"3 300: a client that keeps the lease alive extends it, and puts it on D and E, too",
			"4 000: C loses the key",
			"4 200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: votesStand,
		Breaks:     "mutual exclusion, by one loss: a lease on g of N servers survives g-Q of them",
		Helps:      "asking the servers that didn't grant again: a lease on all five survives two losses",
		Source:     "go-redsync/redsync #186; redisson/redisson #1445",
		Schedule:   append(cut(-50*ms, 550*ms, "DE"), each("C", simulation.Fault{Kind: simulation.Evict, Key: key, At: at(4 * time.Second)})...),
		Scripts:    clients(twoUpdatesAndRelease(0, 5*time.Second), turn(4_200*ms, 2*time.Second)),
		Verdicts: expect(overlap, "redlock quarantine monitor default").
			and(none.reaching("a lease was extended", "restore granted", "c2 refused").without("c2 acquired"), "topup kept-alive").
			and(overlapRefused, "token-admit idempotent").
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a write"), "token-write"),
		Reached:  []string{"c1 acquired"},
		Variants: []designs.Design{keptAlive()},
	}}
}
