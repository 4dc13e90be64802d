package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// delayedWrite is S2: the same as S1, done by the network, and with no fault of the
// lock at all.
func delayedWrite() Scenario {
	return Scenario{
		ID:    "S2",
		Title: "A write is a minute and a half on its way",
		Steps: []string{
			"0: c1 gets the lock",
			"5 000: c1, with half of its validity left, reads and writes; the packet takes 90 s",
			"6 000: c1 hears nothing, and releases the lock",
			"10 200: c2 gets the lock, reads, writes, releases",
			"95 000: c1's write arrives and is carried out",
		},
		Assumption: "messages to the resource arrive within a bounded time",
		Breaks:     "c2's update is lost, and the lock did nothing wrong: a perfect one wouldn't help",
		Helps:      "a fencing token that the resource checks, and nothing else",
		Source:     "Kleppmann, \"Protecting a resource with a lock\": packets can be delayed as processes are; he cites a network that delayed packets for 90 s",
		Schedule: simulation.Schedule{
			{Kind: simulation.Delay, Process: "c1", Server: simulation.Resource, Op: "write", Nth: 1, By: 90 * time.Second},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					until(c, 5*time.Second)
					update(c, lease)
					release(c, lease)
				}
			},
			"c2": func(c *simulation.Client) {
				turn(10_200*ms, 0)(c)
				until(c, 100*time.Second)
			},
		}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite).reaching("c1 write"), group([]string{"setnx", "repeats-only"}, unguarded, voting)...).
			and(none.reaching("the guard refused a write").without("c1 write"), fenced...),
		Reached: []string{"c1 released", "c2 write"},
	}
}

// repeatedWrite is S2b: the network again, within one lease.
func repeatedWrite() Scenario {
	return Scenario{
		ID:    "S2b",
		Title: "A write arrives twice",
		Steps: []string{
			"0: c1 gets the lock, reads and writes; something on the way, a proxy or a client library, sends the write again later",
			"1 000: c1 reads and writes once more",
			"3 000: the first write arrives a second time, and is carried out over the second",
		},
		Assumption: "a write is carried out once",
		Breaks:     "c1's second update is lost, by its own first one: the token is as good as ever",
		Helps:      "a resource that knows each write again: tokens say which lease is later, numbers which write",
		Source:     "Antirez, \"Is Redlock safe?\", on resources that compare rather than order; retries of HTTP and database clients, which is what idempotency keys are for",
		Schedule: simulation.Schedule{
			{Kind: simulation.Duplicate, Process: "c1", Server: simulation.Resource, Op: "write", Nth: 1, By: 3 * time.Second},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, time.Second)
					update(c, lease)
					until(c, 5*time.Second)
					release(c, lease)
				}
			},
		}),
		Verdicts: expect(breaks(simulation.LostUpdate), group([]string{"setnx"}, unguarded, voting, []string{"token-write", "token-admit"})...).
			and(none.reaching("the guard refused a write"), "idempotent", "repeats-only"),
		Reached: []string{"a request arrived twice", "c1 write"},
	}
}
