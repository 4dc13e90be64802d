package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// partition is what the forms of X2 have in common: c1 is left with A and B, c2 with
// C, D and E.
func partition(s Scenario, way simulation.Way) Scenario {
	for _, server := range "ABCDE" {
		client := "c1"
		if server < 'C' {
			client = "c2"
		}
		s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Cut, Process: client, Server: string(server), At: at(-50 * ms), Way: way})
	}
	s.Work = func(c *simulation.Client) {
		look(c)
		until(c, 0)
		for try := range uint64(40) {
			if lease := take(c); lease != nil {
				update(c, lease)
				release(c, lease)
				break
			}
			c.Sleep(time.Duration(100+c.Pick(try, 100)) * ms)
		}
		until(c, 9*time.Second)
	}
	s.Free = []Free{{Process: "c2", By: 9 * time.Second}}
	s.Verdicts = expect(none.reaching("c1 refused", "c2 write").without("c1 acquired"), group(voting, fenced, []string{"textbook"})...).
		and(breaks(simulation.NoProgress).reaching("c2 refused"), group([]string{"setnx"}, unguarded)...)
	return s
}

// partitioned is X2.
func partitioned() Scenario {
	return partition(Scenario{
		ID:    "X2",
		Title: "The network is split, two servers against three",
		Steps: []string{
			"0: c1 reaches A and B only, c2 C, D and E only; both ask again and again",
			"c2 gets the lock, c1 doesn't",
		},
		Assumption: "none",
		Breaks:     "nothing, with five servers and a quorum; with one server whoever is cut off from it waits",
		Helps:      "the quorum of all servers: only one side has it. Who counts those that can be reached, or half, has it on both (S14b)",
		Source:     "the Redis document, \"Safety and Liveness Guarantees\", liveness property B, and \"Liveness Arguments\"",
	}, simulation.Both)
}

// requestsCut and repliesCut are X2b and X2c: a network that is split in one
// direction.
func requestsCut() Scenario {
	return partition(Scenario{
		ID:         "X2b",
		Title:      "The network is split for requests alone",
		Steps:      []string{"as X2, but servers' replies would get through"},
		Assumption: "none", Breaks: "nothing", Helps: "the quorum",
		Source: "as X2",
	}, simulation.Requests)
}

func repliesCut() Scenario {
	s := partition(Scenario{
		ID:    "X2c",
		Title: "The network is split for replies alone",
		Steps: []string{
			"as X2, but requests get through: c1 sets keys on C, D and E and doesn't hear of it, and deletes them",
			"c2 gets the lock between two of c1's tries",
		},
		Assumption: "none", Breaks: "nothing", Helps: "the quorum, and deletes of what was never heard of",
		Source: "as X2",
	}, simulation.Replies)
	s.Reached = []string{"a reply was lost"}
	return s
}
