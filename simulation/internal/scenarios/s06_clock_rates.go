package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// slewed is a rate at which clocks are corrected: chrony's maxslewrate by default,
// in millionths.
const slewed = 83_333

// clockRates is S6. Where exactly it begins to break is a sweep, see ClockRates.
func clockRates() Scenario {
	return Scenario{
		ID:    "S6",
		Title: "All servers' clocks are slewed as fast as chrony may",
		Steps: []string{
			"before: all servers' clocks gain 83 333 millionths",
			"0: c1 gets the lock, valid to 9 898; its keys live to 9 231",
			"9 300: c2 gets the lock",
			"9 500: c1 looks at its lease, and writes",
		},
		Assumption: "servers count a TTL at about the client's rate; the allowance is for a hundredth",
		Breaks:     "mutual exclusion, for 667 ms",
		Helps:      "an allowance that covers the fastest slewing in use. The clock monitor takes such clocks for jumping ones and lets none of these servers vote, which is safe and no more",
		Source:     "chrony.conf(5), maxslewrate; the Redis document, \"Is the Algorithm Asynchronous?\": small errors against the TTL are assumed",
		Schedule:   simulation.Schedule{{Kind: simulation.Rate, Server: simulation.Any, PPM: slewed}},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 9_500*ms)
					if c.Valid(lease) {
						update(c, lease)
					}
				}
			},
			"c2": turn(9_300*ms, 100*ms),
		}),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders), "redlock", "quarantine", "unwatched").
			and(breaks(simulation.StaleWrite, simulation.TwoHolders), unguarded...).
			and(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("the guard refused a read"), "unwatched-fenced").
			and(none.reaching("c1 write", "c2 acquired"), "allowance-9").
			// Such a clock jumps, again and again, as far as the monitor can see: safe, and
			// out of service.
			and(none.reaching("a clock was seen to jump", "c1 refused", "c2 refused").without("c1 acquired", "c2 acquired"), group(watching, fenced)...).
			and(none.reaching("c1 acquired", "c2 refused"), "setnx"),
		Variants: append(unwatched(), allowance("allowance-9", 9)),
		Reached:  []string{"c1 asked", "c2 asked"},
	}
}

// coveredRates is S6b: what the allowance is for.
func coveredRates() Scenario {
	return Scenario{
		ID:    "S6b",
		Title: "Clocks run apart by what the allowance covers",
		Steps: []string{
			"before: the servers' clocks gain 5 000 millionths, and c1's lose as many",
			"0: c1 gets the lock; the keys live to 9 950; with the allowance its validity ends at 9 948, without at 10 050",
			"9 970: c2 gets the lock",
			"10 000: c1 looks at its lease",
		},
		Assumption: "clocks run at the same rate",
		Breaks:     "mutual exclusion, for a client that makes no allowance",
		Helps:      "the Redis document's allowance: it holds while validity <= TTL*(1-r)/(1+r)",
		Source:     "the Redis document, \"Safety Arguments\", MIN_VALIDITY, and the code of redlock-rb, a hundredth and 2 ms; rueidislock and redisson make none (read)",
		Schedule: simulation.Schedule{
			{Kind: simulation.Rate, Server: simulation.Any, PPM: 5_000},
			{Kind: simulation.Rate, Process: "c1", At: at(-10 * ms), PPM: -5_000},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 9_950*ms) // 10 000 true ones
					if c.Valid(lease) {
						update(c, lease)
					}
				}
			},
			"c2": turn(9_970*ms, 100*ms),
		}),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders), "no-drift").
			and(breaks(simulation.StaleWrite, simulation.TwoHolders), unguarded...).
			and(none, group(voting[:3], fenced, []string{"default", "textbook"})...),
		Reached: []string{"c1 looked", "c2 write"},
	}
}

// tenths is S6c: the error that antirez allows for, against the allowance that the
// Redis document makes.
func tenths() Scenario {
	return Scenario{
		ID:    "S6c",
		Title: "Clocks run apart by antirez's ten percent",
		Steps: []string{
			"before: the servers' clocks count 10 s in 9 s, and c1's in 11 s",
			"0: c1 gets the lock, valid to 9 898 by its own clock, which is 10 887; its keys live to 9 000",
			"9 100: c2 gets the lock",
			"9 790: c1 looks at its lease, and writes",
		},
		Assumption: "a process can count 5 seconds with an error of at most 10 %",
		Breaks:     "mutual exclusion, for 1.8 s with an allowance of 1 %, and for 0.8 s with one of 10 %",
		Helps:      "an allowance of 1 - 0.9/1.1, which is 18.2 %: one clock is fast and the other one slow. The clock monitor lets none of these servers vote, which is safe and no more",
		Source:     "Antirez, \"Is Redlock safe?\", section \"Let's talk about system models\": one process counts 4.5 seconds for 5, and another one 5.5. The code of redlock-rb, by the same author, allows for 1 % and 2 ms",
		Schedule: simulation.Schedule{
			{Kind: simulation.Rate, Server: simulation.Any, PPM: 111_111},
			{Kind: simulation.Rate, Process: "c1", At: at(-10 * ms), PPM: -90_909},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 8_900*ms) // 9 790 true ones
					if c.Valid(lease) {
						update(c, lease)
					}
				}
			},
			"c2": turn(9_100*ms, 2*time.Second),
		}),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders), "redlock", "quarantine", "textbook", "unwatched", "allowance-10").
			and(breaks(simulation.StaleWrite, simulation.TwoHolders), unguarded...).
			and(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("the guard refused a read"), "unwatched-fenced").
			and(none.reaching("c1 write", "c2 acquired"), "allowance-19").
			and(none.reaching("a clock was seen to jump", "c1 refused", "c2 refused").without("c1 acquired", "c2 acquired"), group(watching, fenced)...),
		Variants: append(unwatched(), allowance("allowance-10", 10), allowance("allowance-19", 19)),
		Reached:  []string{"c1 asked", "c2 asked"},
	}
}
