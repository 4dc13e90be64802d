package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

const waitSource = "the Redis command reference, WAIT; redisson/redisson #4211, #4798 and #3859"

// replicaDown is S8e: what WAIT for all replicas costs.
func replicaDown() Scenario {
	return Scenario{
		ID:    "S8e",
		Title: "A replica is down, and nothing else",
		Steps: []string{
			"before: the first replica of each server is down, and stays down for a minute",
			"0 to 20 000: c1 asks again and again",
		},
		Assumption: "all replicas are up",
		Breaks:     "liveness: nobody gets the lock while one replica is down",
		Helps:      "WAIT for fewer replicas, which a failover can break (S8), or a majority of servers without replicas",
		Source:     waitSource + ": locks fail, or take a second, while replicas are moved",
		Base:       simulation.Config{Replicas: 2},
		Schedule:   simulation.Schedule{lag(simulation.Any, 1, time.Minute)},
		Work:       parts(map[string]simulation.Workload{"c1": keepTrying(0, 20, 250*ms)}),
		Free:       []Free{{Process: "c1", By: 20 * time.Second}},
		Verdicts: expect(breaks(simulation.NoProgress).reaching("c1 refused", "a WAIT fell short"), "wait-one", "wait-all", "wait-late").
			and(none.reaching("c1 write"), "replica-async", "wait-some", "semisync", "redlock", "default", "token-admit"),
	}
}

// countedFromWait is S8f.
func countedFromWait() Scenario {
	return slowReplicas(Scenario{
		ID:    "S8f",
		Title: "The lease counts from after the WAIT, and the replicas are slow",
		Steps: []string{
			"0: c1 sets the key, which lives to 10 000; the replicas have it 900 later",
			"900: WAIT answers. Counted from here the lease is valid to 10 900, counted from before the SET to 10 000. Semi-synchronous replication answers at 500",
			"10 100: c2 gets the lock",
			"10 400: c1 goes on under its lease, if it believes in it",
		},
		Assumption: "the lock call takes no time",
		Breaks:     "mutual exclusion, for as long as the WAIT took",
		Helps:      "counting from before the first command, as the Redis document does",
		Source:     waitSource,
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "c2 write"), "wait-late", "semisync").
			and(none.reaching("c1 write", "c2 write"), "wait-one", "wait-all", "wait-some", "replica-async", "redlock", "default", "token-admit"),
	}, 900*ms, 10_100*ms, 10_400*ms)
}

// slowReplicas lets all replicas be slow by so much. After the key's end c2 asks, and
// c1 looks at its lease again.
func slowReplicas(s Scenario, by, asks, looks time.Duration) Scenario {
	s.Base = simulation.Config{Replicas: 2}
	behind := lag(simulation.Any, 0, 2*time.Second)
	behind.By = by
	s.Schedule = simulation.Schedule{behind}
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, 0)
			if lease := take(c); lease != nil {
				update(c, lease)
				until(c, looks)
				if c.Valid(lease) {
					update(c, lease)
				}
			}
		},
		"c2": turn(asks, 2*time.Second),
	})
	return s
}

// waitPastLease is S8g.
func waitPastLease() Scenario {
	return slowReplicas(Scenario{
		ID:    "S8g",
		Title: "A WAIT takes longer than the lease",
		Steps: []string{
			"0: c1 sets the key, which lives to 10 000; the replicas have it 12 000 later",
			"1 000: a WAIT with a time-out of a second says that no replica has it, and c1 gives the lock up",
			"12 000: a WAIT with a longer time-out says that the replica has got the key, which has expired by then",
			"12 500: c2 gets the lock",
			"13 000: c1 goes on under its lease, if it believes in it",
		},
		Assumption: "what a replica acknowledges is still so",
		Breaks:     "mutual exclusion: the lease was over when it was handed out",
		Helps:      "a time-out of WAIT that is a fraction of the lease, and a lease that counts from before the SET",
		Source:     waitSource,
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "c2 write"), "wait-long").
			and(none.reaching("c1 refused", "c2 write", "a WAIT fell short").without("c1 acquired"), "wait-one", "wait-all", "wait-some").
			and(none.reaching("c1 write", "c2 write"), "redlock", "default", "token-admit"),
	}, 12*time.Second, 12_500*ms, 13*time.Second)
}

// waitPastTimeout is S8h.
func waitPastTimeout() Scenario {
	s := replicaDown()
	s.ID, s.Title = "S8h", "A WAIT takes longer than the client waits for an answer"
	s.Steps = []string{
		"before: all replicas are down, and stay down for four seconds",
		"0: c1 sets the key, and sends WAIT",
		"1 000: a WAIT with a time-out of a second says that no replica has the key, and c1 deletes it",
		"3 000: a WAIT without one is still waiting when the client's own time-out is up. The error goes up; nobody deletes the key",
		"4 500 to 7 000: the replicas are up again; c2 asks again and again",
	}
	s.Assumption = "a command that fails had no effect"
	s.Breaks = "liveness: a key that nobody knows of, for a TTL"
	s.Helps = "a time-out of WAIT that is below the client's, and a release after every error"
	s.Schedule = simulation.Schedule{lag(simulation.Any, 0, 4*time.Second)}
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) { until(c, 0); take(c) },
		"c2": keepTrying(4_500*ms, 10, 250*ms),
	})
	s.Free = []Free{{Process: "c2", By: 7 * time.Second}}
	s.Verdicts = expect(breaks(simulation.NoProgress).reaching("c1 refused", "a call timed out", "c2 refused"), "wait-forever").
		and(none.reaching("c1 refused", "a WAIT fell short", "c2 write"), "wait-one", "wait-all", "wait-some")
	return s
}
