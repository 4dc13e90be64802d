package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func even() []Scenario {
	// Two clients ask at the same time, and reach different servers first.
	halves := func(s Scenario, lateForC1, lateForC2 string) Scenario {
		s.Assumption, s.Breaks = "any two quorums have a server in common", "mutual exclusion"
		s.Base.LatencyMin, s.Base.LatencyMax = ms, ms
		s = s.with(delayed("acquire", 10*ms, lateForC1)...)
		for _, f := range delayed("acquire", 10*ms, lateForC2) {
			f.Process = "c2"
			s = s.with(f)
		}
		s.Scripts = clients(Script{until(0), acquire, until(time.Second), update, until(5 * time.Second), release}, Script{until(0), acquire, until(5 * time.Second), release})
		return s
	}
	return []Scenario{halves(Scenario{
		ID:    "S18",
		Title: "Four servers, and half of them is taken for enough",
		Steps: []string{
			"0: c1 reaches A and B first, c2 C and D; each gets two, and is refused by two",
			"a client that takes half of the servers for enough has the lock; both are done at 5 000; c1 works",
		},
		Helps:  "a quorum of N/2+1, which is 3 of 4: then both lose. The fourth server has no benefit: three servers survive the loss of one, too. A round is lost as soon as N-Q+1 = 2 servers refuse",
		Source: "samcook/RedLock.net #29; node-redlock waits for Q refusals, which never come with two against two (read)",
		Base:   simulation.Config{Servers: 4},
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired", "c2 acquired"), "half-quorum").
			and(none.reaching("c1 refused", "c2 refused").without("c1 acquired", "c2 acquired"), voting, fenced, "textbook"),
	}, "CD", "AB"), halves(Scenario{
		ID:    "S18b",
		Title: "M of N need not be a majority: two of five servers are taken for enough",
		Steps: []string{
			"0: c1 reaches A, B and C first, c2 D and E; c1 gets three, c2 two",
			"if two are enough, both clients have the lock; both are done at 5 000; c1 works",
		},
		Helps:  "a quorum of N/2+1, which nobody can configure",
		Source: "redlock-universal lets its users choose the quorum",
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c2 acquired"), "m-of-n half-quorum").
			and(none.reaching("c2 refused").without("c2 acquired"), voting, fenced, "textbook"),
		Reached: []string{"c1 acquired"},
	}, "DE", "ABC")}
}
