package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/record"
)

func extensions() []Scenario {
	bounded := withSetting("topup-30s", "this library with KeepAlive, for 30 s at most", "topup", func(c *simulation.Config) { c.Quorum.MaxLife = 30 * time.Second })
	return []Scenario{{
		ID:    "S11a",
		Title: "An extension puts an expired lease back",
		Steps: []string{
			"0: c1 acquires the lock, and reads",
			"10 005: the keys have expired; 10 010: c2 acquires the lock, reads, writes, and releases it at 10 018",
			"10 030: c1 extends; if the extension sets missing keys, c1 has \"its\" lock again",
			"10 060: c1 writes what follows from its old reading",
		},
		Helps:  "an extension counts only where the key still has the lease's value, and none is sent past the deadline",
		Source: "the Redis document, \"Making the algorithm more reliable: Extending the lock\"; samcook/RedLock.net #48 and leandromoreira/redlock-rb #36; redsync's WithSetNXOnExtend (measured)",
		Scripts: clients(
			Script{until(0), acquire, read, until(10_030 * ms), extendOrEnd, until(10_060 * ms), ifValid(write), release},
			turn(10_010*ms, 0),
		),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders).reaching("c1 write"), "extend-sets").
			and(none.reaching("c1 noted").without("c1 write"), "redlock", complete, unguarded),
		Reached: []string{"c2 write", "c2 released"},
	}, {
		ID:    "S11f",
		Title: "Work that hangs is kept alive",
		Steps: []string{
			"0: c1 acquires the lock, and hangs for five minutes; the renewal of the lease continues",
			"20 000 to 60 000: c2 asks again and again",
		},
		Helps:   "a bound on the total duration of a lease (Terms.MaxLife)",
		Source:  "samcook/RedLock.net #39 and redisson's watchdog: users ask why a lock outlives its expiry",
		Scripts: clients(Script{until(0), acquire, update, sleep(5 * time.Minute)}, keepTrying(20*time.Second, 80, 500*ms)),
		Free:    []Free{{Process: "c2", By: 60 * time.Second}},
		Verdicts: expect(breaks(record.NoProgress).reaching("a lease was extended"), "topup").
			and(none.reaching("a lease was extended", "c2 write"), "topup-30s").
			and(none.reaching("c2 write"), "redlock", complete),
		Reached:  []string{"c1 acquired"},
		Variants: []designs.Design{bounded},
	}}
}
