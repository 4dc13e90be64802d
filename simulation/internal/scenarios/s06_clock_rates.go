package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// slewed is a rate at which clocks are corrected, in parts per million: chrony's default
// maxslewrate.
const slewed = 83_333

// clockRates are the forms of S6. Where exactly they begin to break is a Sweep.
func clockRates() []Scenario {
	rates := func(servers, client int64) simulation.Schedule {
		return simulation.Schedule{
			{Kind: simulation.Rate, Server: simulation.Any, PPM: servers},
			{Kind: simulation.Rate, Process: "c1", At: at(-10 * ms), PPM: client},
		}
	}
	work := func(c2, hold, again time.Duration) []Script {
		return clients(twoUpdates(0, again), turn(c2, hold))
	}
	broken := breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders)
	brokenOnOne := breaks(simulation.StaleWrite, simulation.TwoHolders)
	guarded := breaks(simulation.Overvalued, simulation.TwoHolders).reaching("the guard refused a read")
	// To the monitor such a clock jumps again and again: safe, and out of service.
	outOfService := none.reaching("a clock was seen to jump", "c1 refused", "c2 refused").without("c1 acquired", "c2 acquired")
	return []Scenario{{
		ID:    "S6",
		Title: "All servers' clocks are slewed as fast as chrony may",
		Steps: []string{
			"before: all servers' clocks gain 83 333 ppm",
			"0: c1 acquires the lock, valid to 9 898; its keys last until 9 231",
			"9 300: c2 acquires the lock",
			"9 500: c1 checks its lease, and writes",
		},
		Assumption: sameRate + "; the allowance is for 1 %",
		Breaks:     "mutual exclusion, for 667 ms",
		Helps:      "an allowance that covers the fastest slewing in use. To the clock monitor such clocks jump: it lets none of these servers vote, which is safe and no more",
		Source:     "chrony.conf(5), maxslewrate; the Redis document, \"Is the Algorithm Asynchronous?\": it assumes small errors compared with the TTL",
		Schedule:   rates(slewed, 0)[:1],
		Scripts:    work(9_300*ms, 100*ms, 9_500*ms),
		Verdicts: expect(broken, "redlock quarantine unwatched").
			and(brokenOnOne, unguarded).
			and(guarded, "unwatched-fenced").
			and(none.reaching("c1 write", "c2 acquired"), "allowance-9").
			and(outOfService, watching, fenced).
			and(none.reaching("c1 acquired", "c2 refused"), "setnx"),
		Variants: append(unwatched(), allowance("allowance-9", 9)),
		Reached:  []string{"c1 asked", "c2 asked"},
	}, {
		ID:    "S6b",
		Title: "Clocks run apart by what the allowance covers",
		Steps: []string{
			"before: the servers' clocks gain 5 000 ppm, and c1's loses as many",
			"0: c1 acquires the lock; the keys last until 9 950; with the allowance its validity ends at 9 948, without at 10 050",
			"9 970: c2 acquires the lock",
			"10 000: c1 checks its lease",
		},
		Assumption: "clocks run at the same rate",
		Breaks:     "mutual exclusion, for a client that makes no allowance",
		Helps:      "the Redis document's allowance: it holds while validity <= TTL*(1-r)/(1+r)",
		Source:     "the Redis document, \"Safety Arguments\", MIN_VALIDITY, and the code of redlock-rb, 1 % and 2 ms; rueidislock and redisson make none (read)",
		Schedule:   rates(5_000, -5_000),
		Scripts:    work(9_970*ms, 100*ms, 9_950*ms), // by c1's clock; the true time is 10 000
		Verdicts: expect(broken, "no-drift").
			and(brokenOnOne, unguarded).
			and(none, "redlock quarantine monitor textbook", complete),
		Reached: []string{"c1 looked", "c2 write"},
	}, {
		ID:    "S6c",
		Title: "Clocks run apart by antirez's ten percent",
		Steps: []string{
			"before: the servers' clocks count 10 s in 9 s, and c1's in 11 s",
			"0: c1 acquires the lock, valid to 9 898 by its own clock, which is 10 887; its keys last until 9 000",
			"9 100: c2 acquires the lock",
			"9 790: c1 checks its lease, and writes",
		},
		Assumption: "a process can count 5 seconds with an error of at most 10 %",
		Breaks:     "mutual exclusion, for 1.8 s with an allowance of 1 %, and for 0.8 s with one of 10 %",
		Helps:      "an allowance of 1 - 0.9/1.1, which is 18.2 %: one clock is fast and the other slow. The clock monitor lets none of these servers vote, which is safe and no more",
		Source:     "Antirez, \"Is Redlock safe?\", section \"Let's talk about system models\": one process counts 4.5 seconds for 5, and another one 5.5. The code of redlock-rb, by the same author, allows for 1 % and 2 ms",
		Schedule:   rates(111_111, -90_909),
		Scripts:    work(9_100*ms, 2*time.Second, 8_900*ms), // by c1's clock; the true time is 9 790
		Verdicts: expect(broken, "redlock quarantine textbook unwatched allowance-10").
			and(brokenOnOne, unguarded).
			and(guarded, "unwatched-fenced").
			and(none.reaching("c1 write", "c2 acquired"), "allowance-19").
			and(outOfService, watching, fenced),
		Variants: append(unwatched(), allowance("allowance-10", 10), allowance("allowance-19", 19)),
		Reached:  []string{"c1 asked", "c2 asked"},
	}}
}
