package main

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// pausedAt is a pause just before a function of the library reads the clock.
func pausedAt(function string, nth int, from, length time.Duration) simulation.Fault {
	return simulation.Fault{Kind: simulation.Pause, Process: "c1", Op: "clock", Func: function, Nth: nth, At: from, For: length}
}

// neverSecond returns verdicts for designs that use the library: c2 must not get the lock.
func neverSecond() map[string]scenarios.Verdict {
	verdicts := map[string]scenarios.Verdict{}
	for _, design := range []string{"default", "token-admit"} {
		verdicts[design] = scenarios.Verdict{Never: []string{"c2 acquired"}}
	}
	return verdicts
}

// pauseBeforeExtension is a pause at which an extension reads its start time.
func pauseBeforeExtension() scenarios.Scenario {
	return scenarios.Scenario{
		ID:    "M3",
		Title: "The holder stops where its extension reads the clock",
		Steps: []string{
			"1 000: c1 gets the lock, until 10 888 as it knows it",
			"2 000: c1 begins to extend it, and stops for 8 000 at the first reading of the clock there",
			"10 000: c1 goes on, and has extended it until 19 888",
			"13 000: c2 asks",
		},
		Assumption: "none",
		Breaks:     "mutual exclusion, if the extension was sent before the reading that it counts from: its keys end at 12 000",
		Helps:      "the start is read before anything is sent",
		Source:     "package quorum, Lease.Extend",
		Schedule:   simulation.Schedule{pausedAt("quorum.(*core).send", 1, 0, 8*time.Second)},
		Work: func(c *simulation.Client) {
			look(c)
			if c.Name == "c2" {
				turns(c, 1, 13*time.Second, 0)
				return
			}
			holdAndExtend(c, 2*time.Second, 5*time.Second)
		},
		Verdicts: neverSecond(),
		Reached:  []string{"c1 extended", "c2 refused", "a process stopped at a reading of its clock"},
	}
}

// shortExtension is an extension that MaxLife makes shorter than the remaining validity.
func shortExtension() scenarios.Scenario {
	return scenarios.Scenario{
		ID:    "M4",
		Title: "The wall clock is stepped forward, and back, while an extension works out how long it may be",
		Steps: []string{
			"1 000: c1 gets the lock on A, B and C, until 10 888 as it knows it; D and E can't be reached by it",
			"2 000: c1 begins to extend it, and stops for 100 where it works out what MaxLife, 11 000, leaves; its wall clock is stepped forward by 8 000 there",
			"2 100: c1 goes on: what is left by that clock is a TTL of 1 900; of A, B and C it reaches A",
			"2 500: the wall clock is stepped back",
			"5 000: c2 asks",
		},
		Assumption: "none: the larger of two clocks' counts is used",
		Breaks:     "mutual exclusion, if A was given the shorter TTL: c1's lease is on B and C alone at 5 000",
		Helps:      "no extension is sent that is shorter than what is left",
		Source:     "package quorum, Lease.Extend",
		Base:       simulation.Config{Quorum: quorum.Config{Terms: quorum.Terms{MaxLife: 11 * time.Second}}},
		Schedule: slices.Concat(simulation.Schedule{
			// Extend itself makes the first two readings.
			pausedAt("quorum.(*Lease).nextTTL", 3, 0, 100*ms),
			{Kind: simulation.Step, Process: "c1", At: 2050 * ms, By: 8 * time.Second},
			{Kind: simulation.Step, Process: "c1", At: 2500 * ms, By: -8 * time.Second},
		}, cut(900*ms, 0, "c1", "DE", simulation.Both), cut(2050*ms, 500*ms, "c1", "BC", simulation.Both)),
		Work: func(c *simulation.Client) {
			look(c)
			if c.Name == "c2" {
				turns(c, 1, 5*time.Second, 0)
				return
			}
			holdAndExtend(c, 2*time.Second, 4*time.Second)
		},
		Verdicts: neverSecond(),
		Reached:  []string{"c1 acquired", "c2 refused", "a process stopped at a reading of its clock"},
	}
}

// holdAndExtend acquires the lock at 1 000, extends it at when, and releases it after more.
func holdAndExtend(c *simulation.Client, when, more time.Duration) {
	c.SleepUntil(time.Second)
	lease, err := c.TryAcquire("k")
	if err != nil {
		return
	}
	c.SleepUntil(when)
	if err := c.Extend(lease); err != nil {
		c.Note("not extended")
	}
	c.Sleep(more)
	_ = c.Release(lease)
}

// stragglerBehind is a late granter whose raise is lost.
func stragglerBehind() scenarios.Scenario {
	return scenarios.Scenario{
		ID:    "M5",
		Title: "A straggler's counter is behind the token, and its raise is lost",
		Steps: []string{
			"0: C's clock is four seconds slow, which is what its counters begin with where they are lost",
			"1 000: c1 gets the lock on all five and gives it back: all counters are alike",
			"2 000: of the five c3 reaches C alone, and loses three rounds: C has counted three more",
			"3 000: c1, which doesn't reach E, gets the lock on A, B and C, whose count is the token; D answers later, and the raise to the token is lost on the way",
			"3 500: c1 extends the lock, which puts back what D lacks: the token",
			"4 000: c1 gives it back; 4 500: C forgets its counter",
			"5 000: c2, which doesn't reach A and B, gets the lock on C, D and E",
		},
		Assumption: "servers keep their counters: C doesn't",
		Breaks:     "the order of tokens, if D is held to have the token",
		Helps:      "a straggler that voted below the token lacks it until a raise or a restore was granted",
		Source:     "package quorum, round: the proof that tokens rise",
		// Old enough even by C's clock.
		Base: simulation.Config{Processes: 3, LatencyMin: ms, LatencyMax: ms, ServerAge: 3 * time.Hour},
		Verdicts: map[string]scenarios.Verdict{
			"default": {Reached: []string{"c2 acquired"}},
		},
		Reached: []string{"c1 acquired", "c3 refused", "c1 extended"},
		Schedule: slices.Concat(simulation.Schedule{
			{Kind: simulation.Step, Server: "C", By: -4 * time.Second},
			{Kind: simulation.Delay, Process: "c1", Server: "D", At: 3000 * ms, For: 1, By: 20 * ms, Way: simulation.Requests},
			{Kind: simulation.Evict, Server: "C", Key: "{k}", At: 4500 * ms},
		},
			cut(1900*ms, 0, "c3", "ABDE", simulation.Both),
			cut(2900*ms, 1000*ms, "c1", "E", simulation.Both),
			cut(3010*ms, 200*ms, "c1", "D", simulation.Requests), // the raise
			cut(4900*ms, 0, "c2", "AB", simulation.Both),
		),
		Work: func(c *simulation.Client) {
			look(c)
			switch c.Name {
			case "c1":
				turns(c, 1, 1000*ms, 0)
				c.SleepUntil(3000 * ms)
				lease, err := c.TryAcquire("k")
				if err != nil {
					return
				}
				c.SleepUntil(3500 * ms)
				_ = c.Extend(lease)
				c.SleepUntil(4000 * ms)
				_ = c.Release(lease)
			case "c2":
				turns(c, 1, 5000*ms, 0)
			case "c3":
				turns(c, 3, 2000*ms, 0)
			}
		},
	}
}
