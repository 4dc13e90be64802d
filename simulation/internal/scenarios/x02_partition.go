package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func partitions() []Scenario {
	// c1 reaches A and B alone, c2 C, D and E.
	partition := func(s Scenario, way simulation.Way) Scenario {
		for _, f := range append(cutC2("AB"), cut(-50*ms, 0, "CDE")...) {
			f.Way = way
			s = s.with(f)
		}
		s.Scripts = everyClient(Script{attempt(until(0), retry(40, 100*ms, 100), update, release), until(9 * time.Second)})
		s.Assumption = "none"
		s.Free = []Free{{Process: "c2", By: 9 * time.Second}}
		s.Verdicts = expect(none.reaching("c1 refused", "c2 write").without("c1 acquired"), voting, fenced, "textbook").
			and(breaks(simulation.NoProgress).reaching("c2 refused"), "setnx", unguarded)
		return s
	}
	return []Scenario{partition(Scenario{
		ID:    "X2",
		Title: "The network is split, two servers against three",
		Steps: []string{
			"0: c1 reaches A and B only, c2 C, D and E only; both ask again and again",
			"c2 acquires the lock, c1 doesn't",
		},
		Breaks: "nothing, with five servers and a quorum; with one server, clients that are cut off from it wait",
		Helps:  "the quorum of all servers: only one side has it. Clients that count reachable servers, or take half, can have it on both sides (S14b)",
		Source: "the Redis document, \"Safety and Liveness Guarantees\", liveness property B, and \"Liveness Arguments\"",
	}, simulation.Both), partition(Scenario{
		ID:     "X2b",
		Title:  "The network is split for requests alone",
		Steps:  []string{"as X2, but servers' replies would get through"},
		Breaks: "nothing",
		Helps:  "the quorum",
		Source: "as X2",
	}, simulation.Requests), partition(Scenario{
		ID:    "X2c",
		Title: "The network is split for replies alone",
		Steps: []string{
			"as X2, but requests get through: c1 sets keys on C, D and E, receives no replies, and deletes them",
			"c2 acquires the lock between two of c1's tries",
		},
		Breaks:  "nothing",
		Helps:   "the quorum, and deletes on servers that didn't reply",
		Source:  "as X2",
		Reached: []string{"a reply was lost"},
	}, simulation.Replies)}
}
