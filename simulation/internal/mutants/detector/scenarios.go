package main

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// extraScenarios returns scenarios that show mistakes which no listed design makes.
func extraScenarios() []scenarios.Scenario {
	return []scenarios.Scenario{raiseUnanswered(), quarantineLasts(), pauseBeforeExtension(), shortExtension(), stragglerBehind()}
}

const ms = time.Millisecond

// raiseUnanswered is a round whose raises get no reply. The client cannot know which
// servers raised their counters; here none did.
func raiseUnanswered() scenarios.Scenario {
	return scenarios.Scenario{
		ID:    "M1",
		Title: "Counters are to be raised to the token, and no reply comes",
		Steps: []string{
			"1 000: c1 gets the lock on all five and gives it back: all counters are alike",
			"2 000: of the five c3 reaches C alone, and loses three rounds: C has counted three more",
			"3 000: c1, which doesn't reach D and E, is granted by A, B and C; C's count is to be the token, and the raises of A and B are lost",
			"4 000: c2, which doesn't reach C, gets the lock; none of its servers knows that token",
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
		Schedule: slices.Concat(
			cut(1900*ms, 0, "c3", "ABDE", simulation.Both),
			cut(2900*ms, 200*ms, "c1", "DE", simulation.Both),
			cut(3001*ms, 100*ms, "c1", "AB", simulation.Requests), // the SETs are in flight; no later request arrives
			cut(3900*ms, 0, "c2", "C", simulation.Both),
		),
		Work: func(c *simulation.Client) {
			look(c)
			switch c.Name {
			case "c1":
				turns(c, 1, 1000*ms, 0)
				turns(c, 1, 3000*ms, 0)
			case "c2":
				turns(c, 1, 4000*ms, 0)
			case "c3":
				turns(c, 3, 2000*ms, 0)
			}
		},
	}
}

// cut is a process without connections to some servers.
func cut(from, length time.Duration, process, servers string, way simulation.Way) (schedule simulation.Schedule) {
	for _, server := range servers {
		schedule = append(schedule, simulation.Fault{Kind: simulation.Cut, Process: process, Server: string(server), At: from, For: length, Way: way})
	}
	return schedule
}

// quarantineLasts is S7 with a second client that keeps trying.
func quarantineLasts() scenarios.Scenario {
	s := scenarios.Scenario{
		ID:    "M2",
		Title: "A server crashes and comes back empty, and is asked again and again",
		Steps: []string{
			"1 000: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"1 050: C crashes; 1 150: it is back, without any key",
			"1 200 to 4 000: c2 asks, every 200",
			"5 000: c1 goes on under its lease, and gives it back",
		},
		Assumption: "a vote stands for its TTL",
		Breaks:     "mutual exclusion, when the quarantine ends before c1's lease does",
		Helps:      "a quarantine for the longest TTL in use",
		Source:     "the Redis document, \"Performance, Crash Recovery and fsync\", on delayed restarts",
		Schedule: append(cut(900*ms, 0, "c1", "DE", simulation.Both),
			simulation.Fault{Kind: simulation.Restart, Server: "C", At: 1050 * ms, For: 100 * ms}),
		Work: func(c *simulation.Client) {
			look(c)
			if c.Name == "c1" {
				turns(c, 1, 1000*ms, 4000*ms)
			} else {
				turns(c, 15, 1200*ms, 0)
			}
		},
		Verdicts: map[string]scenarios.Verdict{},
		Reached:  []string{"c1 write", "c2 refused", "a quarantine began: restarted"},
	}
	for _, design := range []string{"default", "token-admit", "quarantine", "monitor"} {
		s.Verdicts[design] = scenarios.Verdict{Never: []string{"c2 acquired"}}
	}
	return s
}

// look lets the monitors see the servers before the first fault.
func look(c *simulation.Client) {
	if c.Coordinator == nil {
		return
	}
	if _, err := c.Coordinator.Verify(c.Context()); err != nil {
		c.Note("verify failed")
	}
}

// turns tries n times to acquire the lock, beginning at when. With the lock it updates,
// holds, updates again and releases.
func turns(c *simulation.Client, n int, when, hold time.Duration) {
	c.SleepUntil(when)
	for range n {
		if lease, err := c.TryAcquire("k"); err == nil {
			update(c, lease)
			if hold > 0 {
				c.Sleep(hold)
				update(c, lease)
			}
			_ = c.Release(lease)
		}
		c.Sleep(200 * ms)
	}
}

// update adds one. The checks see the result.
func update(c *simulation.Client, lease simulation.Lease) {
	if value, version, err := c.Read(lease); err == nil && c.Valid(lease) {
		_ = c.Write(lease, value+1, version)
	}
}
