package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
)

// oneAfterTheOther is the library used by a client that needs several locks, takes one after the
// other, and keeps those that it has while it waits.
func oneAfterTheOther() designs.Design {
	return withSetting("one-after-the-other", "this library's locks, taken one after the other", "default", func(c *simulation.Config) {
		c.Quorum.KeepAlive = true
		c.Locker = func(p simulation.Process) (simulation.Locker, error) {
			coordinator, err := quorum.New(p.Config, p.Instances...)
			if err != nil {
				return nil, err
			}
			return struct{ simulation.Locker }{simulation.Library(coordinator)}, nil
		}
	})
}

func severalKeys() []Scenario {
	const source = "redsync #166 and #170, node-redlock #305 (\"this can deadlock\"), DistributedLock #236; Redisson's MultiLock: #467, #631, #1160, #4050"
	patient := func(processes int, maxWait time.Duration) simulation.Config {
		return simulation.Config{Processes: processes, Quorum: quorum.Config{Terms: quorum.Terms{MaxWait: maxWait}}}
	}
	both := func(hold time.Duration, keys ...string) Script {
		return Script{until(0), awaitAll(keys...), update, sleep(hold), release}
	}
	narrowOn := func(key string) Script {
		s := Script{}
		for range 12 {
			s = append(s, attempt(awaitAll(key), update, sleep(200*ms), release), sleep(150*ms))
		}
		return s
	}
	return []Scenario{{
		ID:    "S34",
		Title: "Two clients lock the same two keys in opposite orders",
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
	}, {
		ID:    "S34b",
		Title: "Three sets of keys overlap in a ring",
		Steps: []string{
			"0: c1 wants k and l, c2 wants l and m, c3 wants m and k, each for 500",
			"one lock after the other: each gets its first key, and waits for the second",
		},
		Assumption: "whoever waits holds nothing that others wait for",
		Breaks:     "progress, as in S34",
		Helps:      "one lease on all keys or none",
		Source:     source,
		Base:       patient(3, 5*time.Second),
		Scripts:    clients(both(500*ms, "k", "l"), both(500*ms, "l", "m"), both(500*ms, "m", "k")),
		Verdicts: expect(none.reaching("c1 write", "c2 write", "c3 write"), complete).
			and(none.reaching("c1 refused", "c2 refused", "c3 refused").without("c1 write", "c2 write", "c3 write"), "one-after-the-other"),
		Variants: []designs.Design{oneAfterTheOther()},
	}, {
		ID:    "S34c",
		Title: "Three servers lose one of a lease's two keys",
		Steps: []string{
			"0: c1 takes one lease on k and l, on all five servers",
			"1 000: C, D and E evict l",
			"2 000: c1 extends the lease, learns that it is lost, and deletes what is left of it",
			"3 000: c2 takes a lease on k and l",
		},
		Assumption: votesStand,
		Breaks:     "nothing, because c1 asks before anybody else does: a server counts only with all keys of a lease. Until the extension another client could have taken l",
		Helps:      "extensions, which notice the loss of any key; a resource that checks the token",
		Source:     evictionSource,
		Base:       patient(2, 5*time.Second),
		Schedule:   each("CDE", fault.Fault{Kind: fault.Evict, Key: "l", At: at(time.Second)}),
		Scripts: clients(
			Script{until(0), awaitAll("k", "l"), update, until(2 * time.Second), attempt(extendOrEnd, update), release},
			Script{until(3 * time.Second), awaitAll("k", "l"), update, release},
		),
		Free:     []Free{{Process: "c2", After: 3 * time.Second, By: 3500 * ms}},
		Verdicts: expect(none.reaching("a key was evicted", "c1 noted", "c2 write"), complete),
	}, {
		ID:    "S34d",
		Title: "A client that needs three keys waits behind three that need one each",
		Steps: []string{
			"0: c1, c2 and c3 take k, l and m, twelve times each, for 200 with pauses of 150",
			"100: c4 wants k, l and m, and waits for up to 10 000",
		},
		Assumption: "a waiter gets its turn",
		Breaks:     "nothing here; but c4 is passed over whenever one of its keys is taken again before all are free, and nothing bounds that but its MaxWait",
		Helps:      "fewer keys in a lease, shorter leases on single keys, or one key that stands for all",
		Source:     "this library's AcquireAll",
		Base:       patient(4, 10*time.Second),
		Scripts:    clients(narrowOn("k"), narrowOn("l"), narrowOn("m"), Script{until(100 * ms), awaitAll("k", "l", "m"), update, release}),
		Free:       []Free{{Process: "c4", After: 0, By: 6 * time.Second}},
		Verdicts:   expect(none.reaching("c1 write", "c4 write").without("c4 refused"), complete),
	}}
}
