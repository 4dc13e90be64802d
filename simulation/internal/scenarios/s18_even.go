package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// even is S18.
func even() Scenario {
	return Scenario{
		ID:    "S18",
		Title: "Four servers, and half of them is taken for enough",
		Steps: []string{
			"0: c1 reaches A and B first, c2 C and D; each gets two, and is refused by two",
			"both have half of the servers, and are done at 5 000; c1 works",
		},
		Assumption: "any two quorums have a server in common",
		Breaks:     "mutual exclusion",
		Helps:      "a quorum of N/2+1, which is 3 of 4: then both lose. The fourth server buys nothing: three survive the loss of one, too. A round is lost as soon as N-Q+1 = 2 refuse",
		Source:     "samcook/RedLock.net #29; node-redlock waits for Q refusals, which never come with two against two (read)",
		Base:       simulation.Config{Servers: 4, LatencyMin: ms, LatencyMax: ms},
		Schedule: simulation.Schedule{
			{Kind: simulation.Delay, Process: "c1", Server: "C", Op: "acquire", Nth: 1, By: 10 * ms},
			{Kind: simulation.Delay, Process: "c1", Server: "D", Op: "acquire", Nth: 1, By: 10 * ms},
			{Kind: simulation.Delay, Process: "c2", Server: "A", Op: "acquire", Nth: 1, By: 10 * ms},
			{Kind: simulation.Delay, Process: "c2", Server: "B", Op: "acquire", Nth: 1, By: 10 * ms},
		},
		Work: func(c *simulation.Client) {
			look(c)
			until(c, 0)
			if lease := take(c); lease != nil {
				until(c, time.Second)
				if c.Name == "c1" {
					update(c, lease)
				}
				until(c, 5*time.Second)
				release(c, lease)
			}
		},
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired", "c2 acquired"), "half-quorum").
			and(none.reaching("c1 refused", "c2 refused").without("c1 acquired", "c2 acquired"), group(voting, fenced, []string{"textbook"})...),
	}
}

// mOfN is S18b.
func mOfN() Scenario {
	s := even()
	s.ID, s.Title = "S18b", "M of N need not be a majority: two of five servers are taken for enough"
	s.Steps = []string{
		"0: c1 reaches A, B and C first, c2 D and E; c1 gets three, c2 two",
		"who takes two for enough has the lock twice; both are done at 5 000; c1 works",
	}
	s.Helps = "a quorum of N/2+1, which nobody can set"
	s.Source = "redlock-universal lets its users choose the quorum"
	s.Base.Servers = 0
	s.Schedule = nil
	for _, server := range "ABCDE" {
		late := "c2"
		if server > 'C' {
			late = "c1"
		}
		s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Delay, Process: late, Server: string(server), Op: "acquire", Nth: 1, By: 10 * ms})
	}
	s.Verdicts = expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c2 acquired"), "m-of-n", "half-quorum").
		and(none.reaching("c2 refused").without("c2 acquired"), group(voting, fenced, []string{"textbook"})...)
	s.Reached = []string{"c1 acquired"}
	return s
}
