package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// oneAfterTheOther is the library used by a client that needs several locks, takes one after the
// other, and keeps those that it has while it waits.
func oneAfterTheOther() designs.Design {
	return withSetting("one-after-the-other", "this library's locks, taken one after the other", "default", func(c *simulation.Config) {
		c.Quorum.KeepAlive = true
		c.Locker = func(p simulation.Process) (simulation.Locker, error) {
			l, err := simulation.Library(p)
			return struct{ simulation.Locker }{l}, err
		}
	})
}

func severalKeys() []Scenario {
	const source = "redsync #166 and #170, node-redlock #305 (\"this can deadlock\"), DistributedLock #236; Redisson's MultiLock: #467, #631, #1160, #4050"
	patient := func(processes int, maxWait time.Duration) simulation.Config {
		return simulation.Config{Processes: processes, Quorum: quorum.Config{MaxWait: maxWait}}
	}
	both := func(hold time.Duration, keys ...string) Script {
		return Script{until(0), awaitAll(keys...), update, sleep(hold), release}
	}
	return []Scenario{{
		ID:       "S34",
		Title:    "Two clients lock the same two keys in opposite orders",
		Unplayed: notSeveral,
		Steps: []string{
			"0: c1 wants k and l, in this order, and waits for up to 5 000",
			"0: c2 wants l and k, in this order, and waits for up to 5 000",
			"one lock after the other: c1 gets k and waits for l, c2 gets l and waits for k",
		},
		Assumption: "whoever waits holds nothing that others wait for",
		Breaks:     "progress: both wait until they give up, and neither has both locks",
		Helps:      "one lease on all keys or none (AcquireAll); or an order of the keys that all clients know",
		Source:     source,
		Base:       patient(2, 5*time.Second),
		Scripts:    clients(both(500*ms, "k", "l"), both(500*ms, "l", "k")),
		Verdicts: expect(none.reaching("c1 write", "c2 write").without("c1 refused", "c2 refused"), complete).
			and(none.reaching("c1 refused", "c2 refused").without("c1 write", "c2 write"), "one-after-the-other"),
		Variants: []designs.Design{oneAfterTheOther()},
	}}
}
