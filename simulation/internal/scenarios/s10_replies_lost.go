package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// repliesLost is S10.
func repliesLost() Scenario {
	schedule := cut(-50*ms, 500*ms, "CD")
	for i := range schedule {
		schedule[i].Way = simulation.Replies
	}
	schedule = append(schedule, cut(-50*ms, 0, "E")...)
	return Scenario{
		ID:    "S10",
		Title: "Servers carry out SETs whose replies are lost",
		Steps: []string{
			"0: c1 asks all five: A and B say OK, C and D set the key but their replies are lost, E can't be reached; c1 has lost, and deletes",
			"1 000: c2 asks for the lock; only E is free if C and D still have the key, and A and B",
		},
		Assumption: "no answer is a no",
		Breaks:     "liveness: a client that deletes only where it heard OK leaves keys on C and D, and with E down nobody has a majority for a TTL",
		Helps:      "deleting on all servers; an unanswered SET is unknown, not refused",
		Source:     "the Redis document, \"The Redlock Algorithm\", step 5 and \"Retry on Failure\"; antirez/redlock-rb #3, where Antirez says why; leandromoreira/redlock-rb #5, where it was mended",
		Schedule:   append(schedule, simulation.Fault{Kind: simulation.Cut, Process: "c2", Server: "E", At: at(-50 * ms)}),
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				turn(0, 0)(c)
				until(c, 2*time.Second)
			},
			"c2": keepTrying(time.Second, 12, 250*ms),
		}),
		Free: []Free{{Process: "c2", By: 1_100 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress).reaching("c2 refused"), "release-granted").
			and(none.reaching("c2 write"), group(voting, fenced, []string{"textbook"})...),
		Reached: []string{"a reply was lost", "c1 refused"},
	}
}

// sentAgain is S10b.
func sentAgain() Scenario {
	var reconnects simulation.Schedule
	for _, server := range "CD" {
		reconnects = append(reconnects,
			simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: string(server), Way: simulation.Replies, At: at(0), For: 5 * ms, By: 20 * ms},
			simulation.Fault{Kind: simulation.Reconnect, Process: "c1", Server: string(server), At: at(10 * ms)})
	}
	schedule := append(reconnects, cut(-50*ms, 0, "E")...)
	return Scenario{
		ID:    "S10b",
		Title: "A client sends a SET NX again by itself when its connection breaks",
		Steps: []string{
			"0: c1 asks all five: A and B say OK, E can't be reached; C and D set the key, and their answers take 20",
			"10: the connections to C and D break; the client under the lock sends the SETs again, and they are refused, by the first ones",
			"20: what is unknown looks like a no, so that c1 has lost and sees nothing to delete on C and D",
			"1 000: c2, which doesn't reach E either, asks for the lock, and gets A and B",
		},
		Assumption: "a command is carried out at most once",
		Breaks:     "liveness: keys that nobody knows of on C and D, for a TTL",
		Helps:      "no retries below the lock: a SET NX that went unanswered is unknown",
		Source:     "go-redis, Options.MaxRetries, 3 by default; the same default in other clients",
		Schedule:   append(schedule, simulation.Fault{Kind: simulation.Cut, Process: "c2", Server: "E", At: at(-50 * ms)}),
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				turn(0, 0)(c)
				until(c, 2*time.Second)
			},
			"c2": keepTrying(time.Second, 12, 250*ms),
		}),
		Free: []Free{{Process: "c2", By: 1_100 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress).reaching("c2 refused"), "retried-set").
			and(none.reaching("c2 write"), group(voting, fenced, []string{"textbook"})...),
		Reached: []string{"connections were cut", "c1 refused"},
	}
}
