package scenarios

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func repliesLost() []Scenario {
	lost := each("CD", fault.Fault{Kind: fault.Cut, Process: "c1", At: at(-50 * ms), For: 500 * ms, Way: fault.Replies})
	return []Scenario{{
		ID:    "S10",
		Title: "Servers execute SETs whose replies are lost",
		Steps: []string{
			"0: c1 asks all five: A and B say OK, C and D set the key but their replies are lost, E is unreachable; c1 has lost, and deletes",
			"1 000: c2 asks for the lock; only A and B are free if C and D still have the key",
		},
		Helps:  "deleting on all servers, not only where the reply was OK; the result of an unanswered SET is unknown, not a refusal",
		Source: "the Redis document, \"The Redlock Algorithm\", step 5 and \"Retry on Failure\"; antirez/redlock-rb #3, where Antirez says why; leandromoreira/redlock-rb #5, where it was fixed",
		// Neither client reaches E. c2 asks when C and D should be free again.
		Schedule: slices.Concat(lost, cut("c1", -50*ms, 0, "E"), cut("c2", -50*ms, 0, "E")),
		Scripts:  clients(Script{attempt(turn(0, 0)...), until(2 * time.Second)}, keepTrying(time.Second, 12, 250*ms)),
		Free:     []Free{{Process: "c2", By: 1_100 * ms}},
		Verdicts: expect(breaks(record.NoProgress).reaching("c2 refused"), "release-granted").
			and(none.reaching("c2 write"), voting, fenced),
		Reached: []string{"a reply was lost", "c1 refused"},
	}}
}

func oneHangs() []Scenario {
	hang := fault.Fault{Kind: fault.Hang, At: at(-10 * ms), For: 15 * time.Second}
	return []Scenario{{
		ID:    "S27",
		Title: "One server of five hangs",
		Steps: []string{
			"0: E hangs, for longer than a TTL; c1 asks for the lock",
			"50: four servers are healthy, and c1 has it - or it waits for E",
			"400: c1 releases it; 600: c2 asks for it",
		},
		Helps:    "a timeout for each server, and a decision at the quorum: then E costs nothing",
		Source:   "the Redis document, \"The Redlock Algorithm\", step 2; mike-marcacci/node-redlock #262; redisson/redisson #1636; redsync with go-redis's defaults: 10 s (measured)",
		Schedule: each("E", hang),
		Alone:    each("A", hang),
		Scripts:  clients(Script{until(0), acquire, update, until(400 * ms), release}, turn(600*ms, 500*ms)),
		Free:     []Free{{Process: "c1", By: 150 * ms}, {Process: "c2", By: 750 * ms}},
		Verdicts: expect(breaks(record.NoProgress), "no-timeout setnx", unguarded).
			and(none.reaching("c1 write", "c2 write"), voting, fenced),
	}}
}

func partitions() []Scenario {
	return []Scenario{{
		ID:    "X2",
		Title: "The network is split, two servers against three",
		Steps: []string{
			"before: c1 reaches A and B only, c2 C, D and E only",
			"0: c1 asks, and gets A and B: two of five, or of the two that it reaches",
			"200: c2 gets C, D and E",
		},
		Helps:    "a quorum that follows from the list, whichever servers answer: only one side has N/2+1. So four servers survive no more losses than three",
		Source:   "the Redis document, \"Safety and Liveness Guarantees\", liveness property B, and \"Liveness Arguments\"; \"The Redlock Algorithm\", step 4: a majority of N",
		Schedule: append(cut("c2", -50*ms, 0, "AB"), cut("c1", -50*ms, 0, "CDE")...),
		Scripts:  clients(turn(0, 5*time.Second), keepTrying(200*ms, 40, 200*ms)),
		Free:     []Free{{Process: "c2", By: 9 * time.Second}},
		Verdicts: expect(none.reaching("c1 refused", "c2 write").without("c1 acquired"), voting, fenced).
			and(breaks(record.Overvalued, record.TwoHolders).reaching("c1 acquired", "c2 acquired"), "quorum-reachable").
			and(breaks(record.NoProgress).reaching("c2 refused"), "setnx", unguarded),
	}}
}
