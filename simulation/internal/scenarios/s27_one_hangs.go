package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// oneHangs is S27.
func oneHangs() Scenario {
	return Scenario{
		ID:    "S27",
		Title: "One server of five hangs",
		Steps: []string{
			"0: E hangs, for longer than a TTL; c1 asks for the lock",
			"50: four servers are healthy, and c1 has it - or it waits for E",
			"400: c1 releases it; 600: c2 asks for it",
		},
		Assumption: "a server answers or refuses",
		Breaks:     "liveness: with a healthy majority nobody gets the lock, where servers are waited for without a bound",
		Helps:      "a time-out for each server, and a decision at the quorum: then E costs nothing",
		Source:     "the Redis document, \"The Redlock Algorithm\", step 2; mike-marcacci/node-redlock #262; redisson/redisson #1636; redsync with go-redis's defaults: 10 s (measured)",
		Schedule:   simulation.Schedule{{Kind: simulation.Hang, Server: "E", At: at(-10 * ms), For: 15 * time.Second}},
		Alone:      simulation.Schedule{{Kind: simulation.Hang, Server: "A", At: at(-10 * ms), For: 15 * time.Second}},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 400*ms)
					release(c, lease)
				}
			},
			"c2": turn(600*ms, 500*ms),
		}),
		Free: []Free{{Process: "c1", By: 150 * ms}, {Process: "c2", By: 750 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress), group([]string{"no-timeout", "setnx"}, unguarded)...).
			and(none.reaching("c1 write", "c2 write"), group(voting, fenced, []string{"textbook"})...),
	}
}
