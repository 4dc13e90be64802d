package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func oneHangs() []Scenario {
	hang := simulation.Fault{Kind: simulation.Hang, At: at(-10 * ms), For: 15 * time.Second}
	return []Scenario{{
		ID:    "S27",
		Title: "One server of five hangs",
		Steps: []string{
			"0: E hangs, for longer than a TTL; c1 asks for the lock",
			"50: four servers are healthy, and c1 has it - or it waits for E",
			"400: c1 releases it; 600: c2 asks for it",
		},
		Assumption: "a server grants or refuses",
		Breaks:     "liveness: with a healthy majority nobody gets the lock, if clients wait for servers without a bound",
		Helps:      "a timeout for each server, and a decision at the quorum: then E costs nothing",
		Source:     "the Redis document, \"The Redlock Algorithm\", step 2; mike-marcacci/node-redlock #262; redisson/redisson #1636; redsync with go-redis's defaults: 10 s (measured)",
		Schedule:   each("E", hang),
		Alone:      each("A", hang),
		Scripts:    clients(turnUntil(0, 400*ms), turn(600*ms, 500*ms)),
		Free:       []Free{{Process: "c1", By: 150 * ms}, {Process: "c2", By: 750 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress), "no-timeout setnx", unguarded).
			and(none.reaching("c1 write", "c2 write"), voting, fenced, "textbook"),
	}}
}
