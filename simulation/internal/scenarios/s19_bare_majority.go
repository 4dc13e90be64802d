package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// bareMajority is S19.
func bareMajority() Scenario {
	return Scenario{
		ID:    "S19",
		Title: "A lease on a bare majority loses one of its keys",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it, until 500",
			"3 300: who keeps the lease alive extends it, and puts it on D and E, too",
			"4 000: C loses the key",
			"4 200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "a vote once given stands",
		Breaks:     "mutual exclusion, by one loss: a lease on g of N servers survives g-Q of them",
		Helps:      "going on asking the servers that didn't grant: a lease on all five survives two losses",
		Source:     "go-redsync/redsync #186; redisson/redisson #1445",
		Schedule: append(cut(-50*ms, 550*ms, "DE"),
			simulation.Fault{Kind: simulation.Evict, Server: "C", Key: key, At: at(4 * time.Second)}),
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 5*time.Second)
					if c.Valid(lease) {
						update(c, lease)
					}
					release(c, lease)
				}
			},
			"c2": turn(4_200*ms, 2*time.Second),
		}),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c2 acquired"), "redlock", "quarantine", "monitor", "default").
			and(none.reaching("a lease was extended", "restore granted", "c2 refused").without("c2 acquired"), "topup", "kept-alive").
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "token-admit", "idempotent").
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a write"), "token-write"),
		Reached:  []string{"c1 acquired"},
		Variants: keptAlive(),
	}
}
