package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// lateSet is S9. The list has it on E alone, where it costs a vote; here it is on
// three servers, where it costs the lock.
func lateSet() Scenario {
	var schedule simulation.Schedule
	for _, server := range "CDE" {
		schedule = append(schedule, simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: string(server), Op: "acquire", Nth: 1, By: 800 * ms})
	}
	return Scenario{
		ID:    "S9",
		Title: "SETs arrive after the round that they belonged to has been rolled back",
		Steps: []string{
			"0: c1 asks all five; the SETs to C, D and E take 800",
			"50: they time out; c1 has lost and deletes its keys, of which C, D and E have none yet",
			"800: the SETs arrive, and set keys that nobody owns, until 10 800",
			"2 000: c2 asks for the lock, and gets A and B",
		},
		Assumption: "what was given up doesn't happen any more",
		Breaks:     "liveness: on three servers or more nobody can have the lock for a TTL. Mutual exclusion doesn't break, as long as each try has a value of its own (S9m)",
		Helps:      "deletes that are repeated while the SET may still arrive",
		Source:     "the Redis document, \"Retry on Failure\", wants the deletes sent at once, and can't mean before the SETs; madelson/DistributedLock waits for the SET before it deletes",
		Schedule:   schedule,
		Base:       simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms}},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				turn(0, 0)(c)
				until(c, 3*time.Second)
			},
			"c2": keepTrying(2*time.Second, 12, 250*ms),
		}),
		Free: []Free{{Process: "c2", By: 2_100 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress).reaching("c2 refused"), "textbook").
			and(none.reaching("c2 write"), group(voting, fenced)...),
		Reached: []string{"c1 refused", "a call timed out"},
	}
}

// lateSetOnOne is S9c: the same on one server, where it costs nothing but a vote.
func lateSetOnOne() Scenario {
	return Scenario{
		ID:    "S9c",
		Title: "One SET arrives after the release",
		Steps: []string{
			"0: c1 gets the lock on A to D; the SET to E takes 800, and times out at 50",
			"500: c1 releases the lock",
			"800: the SET arrives at E and sets a key that nobody owns, until 10 800",
			"2 000: c2 gets the lock, on the other four at least",
		},
		Assumption: "what was given up doesn't happen any more",
		Breaks:     "nothing: one dead key is one vote less",
		Helps:      "the quorum, and deletes that are repeated while the SET may still arrive",
		Source:     "madelson/DistributedLock waits for the SET before it deletes; others leave the key (S9)",
		Schedule:   delayed("acquire", 800*ms, "E"),
		Base:       simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms}},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, 500*ms)
					release(c, lease)
				}
				until(c, 3*time.Second)
			},
			"c2": turn(2*time.Second, 0),
		}),
		Verdicts: expect(none, group(voting, fenced, []string{"textbook"})...),
		Reached:  []string{"an acquire was granted after its timeout", "c1 released", "c2 write"},
	}
}

// setInAHungServer is S9b.
func setInAHungServer() Scenario {
	var schedule simulation.Schedule
	for _, server := range "CDE" {
		schedule = append(schedule, simulation.Fault{Kind: simulation.Hang, Server: string(server), At: at(-10 * ms), For: 3_010 * ms})
	}
	// A client closes a connection that timed out; on a new one nothing gets beyond
	// the handshake.
	schedule = append(schedule, cut(40*ms, 2_960*ms, "CDE")...)
	return Scenario{
		ID:    "S9b",
		Title: "SETs wait in the sockets of servers that hang",
		Steps: []string{
			"0: C, D and E hang; c1 asks all five, gets A and B; 50: it has lost, and deletes; no delete gets to C, D and E",
			"3 000: C, D and E run again, and carry out what is in their sockets: the SETs, with their full TTL",
			"4 000: c2 asks for the lock",
		},
		Assumption: "what was given up doesn't happen any more",
		Breaks:     "liveness: a majority of keys that nobody owns, for a TTL",
		Helps:      "deletes that are owed until they were delivered: the connection that timed out is closed, and a delete on a new one doesn't get beyond the handshake with a hung server",
		Source:     "measured with redsync and redis-server 7.0.15: after a failed lock with three of five servers stopped, all three woke up with the dead key",
		Schedule:   schedule,
		Base:       simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms}},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				turn(0, 0)(c)
				until(c, 5*time.Second)
			},
			"c2": keepTrying(4*time.Second, 12, 250*ms),
		}),
		Free: []Free{{Process: "c2", By: 4_100 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress).reaching("c2 refused"), "textbook").
			and(none.reaching("c2 write"), group(voting, fenced)...),
		Reached: []string{"c1 refused", "a call timed out"},
	}
}

// sameValueAgain is S9m.
func sameValueAgain() Scenario {
	schedule := append(cut(-50*ms, 0, "DE"),
		// The first round gets A and B alone, and its delete to C is late.
		simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: "C", Op: "acquire", Nth: 1, By: time.Minute},
		simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: "C", Op: "release", Nth: 1, By: time.Second})
	return Scenario{
		ID:    "S9m",
		Title: "One value for all tries, and the delete of the first is late",
		Steps: []string{
			"0: c1 asks until it has the lock; D and E can't be reached by it. The first round gets A and B, the SET to C is lost",
			"50: c1 deletes its keys; the delete to C takes 1 000",
			"100 to 900: c1's second round, with the same value, gets A, B and C",
			"1 050: the delete arrives at C, and takes the second round's key away",
			"1 500: c2 gets the lock on C, D and E",
		},
		Assumption: "a value names one round",
		Breaks:     "mutual exclusion",
		Helps:      "a fresh value for each round",
		Source:     "redsync draws the value once for all its tries (measured); the Redis document, \"Correct Implementation with a Single Instance\": unique across all clients and all requests",
		Schedule:   schedule,
		Base:       simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms, Terms: quorum.Terms{MaxTries: 20}}},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease, err := c.Acquire(key); err == nil {
					update(c, lease)
					until(c, 5*time.Second)
					if c.Valid(lease) {
						update(c, lease)
					}
					release(c, lease)
				}
			},
			"c2": turn(1_500*ms, time.Second),
		}),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c2 acquired"), "value-reused").
			and(none.reaching("c2 refused").without("c2 acquired"), "textbook").
			and(none.reaching("c2 refused").without("c2 acquired"), group(voting, fenced)...),
		Reached: []string{"c1 acquired", "a call timed out"},
	}
}
