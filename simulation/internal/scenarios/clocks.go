package scenarios

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// jump takes a clock further than the end of a lease.
var jump = fault.Fault{Kind: fault.Step, At: at(100 * ms), By: 15 * time.Second}

// jumps is the scenario in which clocks jump under a lease on all five servers.
func jumps(id, servers, count string, unwatched Verdict) Scenario {
	return Scenario{
		ID:    id,
		Title: "The clocks of " + count + " servers jump forward under a lock that is on all five",
		Steps: []string{
			"0: c1 acquires the lock on all five",
			"100: " + count + " clocks jump forward by 15 000",
			"200: c2 asks all five",
			"5 000: c1 continues",
		},
		Helps:    "more votes than a quorum: 5-3+1 = 3 clocks have to jump; the clock monitor",
		Source:   "Kleppmann, \"Breaking Redlock with bad timings\", first example. There D and E are unreachable, so one jump is enough",
		Schedule: each(servers, jump),
		Scripts:  secondAsks,
		Verdicts: expect(unwatched, "redlock").and(refusedSecond, library),
	}
}

// allowance is the library with a drift allowance in percent, and without clock monitor.
func allowance(name string, percent int64) designs.Design {
	title := fmt.Sprintf("this library with a drift allowance of %d %%, and without clock monitor", percent)
	return withSetting(name, title, "default", func(c *simulation.Config) {
		c.Quorum.Lab.ClockMonitor = quorum.Off
		c.Quorum.Lab.Drift = drift.Allowance{PPM: percent * 10_000, Floor: 2 * ms}
	})
}

func clockFaults() []Scenario {
	setBack := fault.Fault{Kind: fault.Step, At: at(500 * ms), By: -20 * time.Second}
	c1 := Script{until(0), acquire}
	for second := range time.Duration(19) {
		c1 = append(c1, check, update, until((second+1)*time.Second))
	}
	rates := func(servers, client int64) simulation.Schedule {
		return simulation.Schedule{
			{Kind: fault.Rate, Server: fault.Any, PPM: servers},
			{Kind: fault.Rate, Process: "c1", At: at(-10 * ms), PPM: client},
		}
	}
	work := func(c2, hold, again time.Duration) []Script {
		return clients(twoUpdates(0, again), turn(c2, hold))
	}
	broken := breaks(record.Overvalued, record.StaleWrite, record.TwoHolders)
	brokenOnOne := breaks(record.StaleWrite, record.TwoHolders)
	// To the monitor such a clock jumps again and again: safe, and out of service.
	outOfService := none.reaching("a clock was seen to jump", "c1 refused", "c2 refused").without("c1 acquired", "c2 acquired")
	return []Scenario{oneVoteLost(Scenario{
		ID:    "S4",
		Title: "A server's clock jumps forward",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"100: C's clock jumps forward by 15 000, and C's key has expired",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease, which it considers valid until 9 898",
		},
		Helps:  "a clock monitor: a server whose clock jumped doesn't vote for MaxTTL. A lease on all five survives two jumps (S4d). Fencing saves the resource",
		Source: "Kleppmann, \"Breaking Redlock with bad timings\", first example; Antirez agrees, and asks for clocks that are slewed; redis/redis #416 and valkey-io/valkey #2651: keys expire by the wall clock",
		Verdicts: expect(overlap, unguarded, "redlock").
			and(refusedSecond.reaching("a clock was seen to jump", "a quarantine began: clock jumped"), complete).
			and(refusedSecond, "setnx topup"),
	}, jump), {
		ID:    "S4b",
		Title: "Three servers' clocks are set back under a lock whose holder has died",
		Steps: []string{
			"0: c1 acquires the lock, and dies before it writes",
			"500: the clocks of C, D and E are set back by 20 000, so that their keys last until 30 000",
			"10 100 to 15 000: c2 asks again and again, and gets A and B at most",
		},
		Helps:    "nothing: nobody can know that the holder is dead, and deleting its keys would break mutual exclusion if it is alive. An alarm at a PTTL above MaxTTL shows it",
		Source:   "redis/redis #416: expiries are times of the wall clock",
		Schedule: append(simulation.Schedule{crashedWrite}, each("CDE", setBack)...),
		Alone:    append(simulation.Schedule{crashedWrite}, each("A", setBack)...),
		Scripts:  clients(turn(0, 0), keepTrying(10_100*ms, 20, 250*ms)),
		Free:     []Free{{Process: "c2", By: 15 * time.Second}},
		Verdicts: expect(breaks(record.NoProgress), "setnx", unguarded, voting, fenced),
		Reached:  []string{"a process crashed", "c1 acquired", "c2 refused"},
	}, jumps("S4c", "CDE", "three", overlap), jumps("S4d", "CD", "two", refusedSecond), oneVoteLost(Scenario{
		ID:    "S4g",
		Title: "One server's clock is two minutes ahead, as it always was",
		Steps: []string{
			"before: C's clock is two minutes ahead of all others",
			"0: c1 acquires the lock on A, B and C; it can't reach D and E. A key with an expiry time by c1's clock has expired when C sets it",
			"100: with tokens c1 gives up: C counts from its clock, further ahead than A and B can be raised, and without D and E every quorum includes C",
			"200: c2 asks",
			"5 000: c1 continues",
		},
		Helps:  "PX: all agree on how long a second is, but not on what time it is. With tokens, a server that is ahead of the others by more than half of MaxTTL is as good as down, which costs availability and not safety",
		Source: "rueidislock sets keys with PXAT (measured: a server 10 s ahead, and two holders at once)",
		Verdicts: expect(overlap, "expire-at").
			and(refusedSecond.reaching("a clock was stepped"), "setnx redlock", unguarded).
			and(none.reaching("no lease: "+quorum.ErrUnsettled.Error(), "c2 write").without("c1 acquired"), library),
	}, fault.Fault{Kind: fault.Step, By: 2 * time.Minute}), {
		ID:    "S5",
		Title: "The holder's wall clock is set back",
		Steps: []string{
			"0: c1 acquires the lock, and writes once a second while it is valid",
			"500: c1's wall clock is set back by an hour",
			"10 100: c2 acquires the lock",
		},
		Helps:    "the larger of the elapsed times by the monotonic and by the wall clock",
		Source:   "Antirez, \"Is Redlock safe?\": the monotonic clock is what implementations should use; leandromoreira/redlock-rb #50",
		Schedule: simulation.Schedule{{Kind: fault.Step, Process: "c1", At: at(500 * ms), By: -time.Hour}},
		Scripts:  clients(c1, turn(10_100*ms, 5*time.Second)),
		Verdicts: expect(none, "redlock", complete, unguarded).
			and(breaks(record.StaleWrite, record.TwoHolders), "wall-clock"),
		Reached: []string{"c1 write", "c2 write"},
	}, {
		ID:    "S6b",
		Title: "Clocks run apart by what the allowance covers",
		Steps: []string{
			"before: the servers' clocks gain 5 000 ppm, and c1's loses as many",
			"0: c1 acquires the lock; the keys last until 9 950; with the allowance its validity ends at 9 948, without at 10 050",
			"9 970: c2 acquires the lock",
			"10 000: c1 checks its lease",
		},
		Helps:    "the Redis document's allowance: it holds while validity <= TTL*(1-r)/(1+r)",
		Source:   "the Redis document, \"Safety Arguments\", MIN_VALIDITY, and the code of redlock-rb, 1 % and 2 ms; rueidislock and redisson make none (read)",
		Schedule: rates(5_000, -5_000),
		Scripts:  work(9_970*ms, 100*ms, 9_950*ms), // by c1's clock; the true time is 10 000
		Verdicts: expect(broken, "no-drift").
			and(brokenOnOne, unguarded).
			and(none, "redlock", complete),
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
		Helps:    "an allowance of 1 - 0.9/1.1, which is 18.2 %: one clock is fast and the other slow. The clock monitor lets none of these servers vote, which is safe and no more",
		Source:   "Antirez, \"Is Redlock safe?\", section \"Let's talk about system models\": one process counts 4.5 seconds for 5, and another one 5.5. The code of redlock-rb, by the same author, allows for 1 % and 2 ms",
		Schedule: rates(111_111, -90_909),
		Scripts:  work(9_100*ms, 2*time.Second, 8_900*ms), // by c1's clock; the true time is 9 790
		Verdicts: expect(broken, "redlock allowance-10").
			and(brokenOnOne, unguarded).
			and(none.reaching("c1 write", "c2 acquired"), "allowance-19").
			and(outOfService, library),
		Variants: []designs.Design{allowance("allowance-10", 10), allowance("allowance-19", 19)},
		Reached:  []string{"c1 asked", "c2 asked"},
	}}
}
