package main

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/scenarios"
)

// stories are scenarios that show a mistake which no design in the list makes.
func stories() []scenarios.Scenario { return []scenarios.Scenario{raiseUnanswered()} }

const ms = time.Millisecond

// raiseUnanswered is a round whose raises go unanswered: nobody knows on which servers
// the counter has reached the token, and here it has on none.
func raiseUnanswered() scenarios.Scenario {
	s := scenarios.Scenario{
		ID:    "M1",
		Title: "Counters are to be raised to the token, and nothing is heard of it",
		Steps: []string{
			"1 000: c1 gets the lock on all five and gives it back: all counters are alike",
			"2 000: of the five c3 reaches C alone, and loses three rounds: C has counted three more",
			"3 000: c1, which doesn't reach D and E, is granted by A, B and C; C's count is to be the token, and the raises of A and B are lost",
			"4 000: c2, which doesn't reach C, gets the lock; none of its servers has heard of that token",
		},
		Assumption: "what was sent was done",
		Breaks:     "the order of tokens: c2's is smaller than c1's was",
		Helps:      "a raise that went unanswered doesn't count: c1's round is lost",
		Source:     "package quorum, round: the proof that tokens rise",
		Base:       simulation.Config{Processes: 3, LatencyMin: ms, LatencyMax: ms},
		Verdicts: map[string]scenarios.Verdict{
			"default":     {Reached: []string{"a raise was needed", "c2 acquired"}},
			"token-admit": {Reached: []string{"a raise was needed", "c2 write"}},
		},
		Reached: []string{"c1 acquired", "c1 refused", "c3 refused"},
	}
	cut := func(from, length time.Duration, process, servers string) {
		for _, server := range servers {
			s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Cut, Process: process, Server: string(server), At: from, For: length})
		}
	}
	cut(1900*ms, 0, "c3", "ABDE")
	cut(2900*ms, 200*ms, "c1", "DE")
	cut(3001*ms, 100*ms, "c1", "AB") // the SETs are on their way; of what comes after them nothing arrives
	for i := len(s.Schedule) - 2; i < len(s.Schedule); i++ {
		s.Schedule[i].Way = simulation.Requests
	}
	cut(3900*ms, 0, "c2", "C")
	s.Work = func(c *simulation.Client) {
		if c.Coordinator != nil {
			if _, err := c.Coordinator.Verify(c.Context()); err != nil {
				c.Note("verify failed")
			}
		}
		switch c.Name {
		case "c1":
			turns(c, 1, 1000*ms)
			turns(c, 1, 3000*ms)
		case "c2":
			turns(c, 1, 4000*ms)
		case "c3":
			turns(c, 3, 2000*ms)
		}
	}
	return s
}

// turns takes the lock so many times from a moment on, if it can, updates, and gives
// it back.
func turns(c *simulation.Client, n int, when time.Duration) {
	c.SleepUntil(when)
	for range n {
		if lease, err := c.TryAcquire("k"); err == nil {
			if value, version, err := c.Read(lease); err == nil && c.Valid(lease) {
				_ = c.Write(lease, value+1, version) // what became of it is for the checks to see
			}
			_ = c.Release(lease)
		}
		c.Sleep(100 * ms)
	}
}
