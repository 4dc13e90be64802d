package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// latePaused is what S20 and S21 have in common: c1 has the lock, and is paused
// before it has got from anywhere what it shows the resource. It writes what
// follows from the version that it knew before.
func latePaused(s Scenario) Scenario {
	s.Schedule = simulation.Schedule{{Kind: simulation.Pause, Process: "c1", At: at(100 * ms), For: 11_900 * ms}}
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, 0)
			if lease := take(c); lease != nil && c.Valid(lease) {
				c.Sleep(time.Second) // it is paused in here, and doesn't look again
				_ = c.Write(lease, 1, 0)
			}
		},
		"c2": turn(10_100*ms, 5*time.Second),
	})
	s.Reached = []string{"a process was paused", "c1 acquired", "c2 write"}
	return s
}

// tokenAfterLock is S20.
func tokenAfterLock() Scenario {
	return latePaused(Scenario{
		ID:    "S20",
		Title: "The token is fetched after the lock",
		Steps: []string{
			"0: c1 gets the lock, and is paused before it has a token",
			"10 100: c2 gets the lock, fetches the token 1, reads and writes",
			"12 000: c1 runs again, fetches the token 2, and writes",
		},
		Assumption: "who has the larger token got the lock later",
		Breaks:     "c2's update is lost, under the eyes of a guard",
		Helps:      "a token that is minted with the grant, in one step",
		Source:     "Kleppmann, \"Making the lock safe with fencing\": the number increases each time that the lock is granted; articles that add an INCR after the lock",
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders), group(voting, unguarded, []string{"token-after"})...).
			and(none.reaching("the guard refused a write").without("c1 write"), fenced...),
	})
}

// currentToken is S21.
func currentToken() Scenario {
	return latePaused(Scenario{
		ID:    "S21",
		Title: "The token is what the counter says now",
		Steps: []string{
			"0: c1 gets the lock, the counter is 1, and c1 is paused",
			"10 100: c2 gets the lock, the counter is 2; c2 reads and writes under 2",
			"12 000: c1 runs again, asks for the lock's token, is told 2, and writes under it",
		},
		Assumption: "a token belongs to one lease",
		Breaks:     "c2's update is lost, under the eyes of a guard",
		Helps:      "a token that is fixed when the lock is acquired, and part of the lease",
		Source:     "redisson's RedissonFencedLock.getToken (read); redisson/redisson #4684 and #5044, where users ask what to compare it with",
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders), group(voting, unguarded, []string{"token-current"})...).
			and(none.reaching("the guard refused a write").without("c1 write"), fenced...),
	})
}

// naiveMaximum is S22.
func naiveMaximum() Scenario {
	apart := func(process, server string) simulation.Fault {
		return simulation.Fault{Kind: simulation.Cut, Process: process, Server: server, At: at(-550 * ms)}
	}
	return Scenario{
		ID:    "S22",
		Title: "The token is the largest of what the servers counted",
		Steps: []string{
			"-500: of three servers c3 reaches A alone, and loses: A has counted 1",
			"0: c1, which doesn't reach C, gets A (2) and B (1): its token is 2; it reads, and is paused just before its write",
			"10 100: c2, which doesn't reach A, gets B (2) and C (1): its token is 2; it reads and writes",
			"12 000: c1's write, under a token as large as c2's",
		},
		Assumption: "two majorities share a server, so the maximum rises",
		Breaks:     "tokens are no longer unique, and c2's update is lost under the eyes of a guard: B counted both, but the maximum came from A",
		Helps:      "raising the counters of a quorum to the token before the lock counts as acquired",
		Source:     "Kleppmann, \"Making the lock safe with fencing\", says of counters on several nodes that they would go out of sync; package quorum has the proof of what mends it",
		Base:       simulation.Config{Servers: 3, Processes: 3},
		Schedule: simulation.Schedule{
			apart("c3", "B"), apart("c3", "C"), apart("c1", "C"), apart("c2", "A"),
			{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 0),
			"c2": turn(10_100*ms, 5*time.Second),
			"c3": turn(-500*ms, 0),
		}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.TokenOrder, simulation.TwoHolders).reaching("c1 write"), "token-naive-max").
			and(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), voting...).
			and(none.reaching("the guard refused a write", "a raise was needed").without("c1 write"), fenced...),
		Reached: []string{"c1 acquired", "c2 write", "c3 refused"},
	}
}

// guardOnWrites is S24.
func guardOnWrites() Scenario {
	return Scenario{
		ID:    "S24",
		Title: "The guard sees tokens on writes only",
		Steps: []string{
			"0: c1 gets the lock and reads; it is paused just before its write",
			"10 100: c2 gets the lock, with a larger token, and reads",
			"12 000: c1's write; nobody has written under a larger token yet, so that the guard lets it pass",
			"13 000: c2 writes what follows from what it read",
		},
		Assumption: "a guard knows the largest token",
		Breaks:     "c1's update is lost, in spite of tokens",
		Helps:      "showing the token before the first read: a guard admits a holder when it arrives",
		Source:     "Kleppmann's figure has writes alone; package fencing, Admit",
		Schedule:   simulation.Schedule{{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}},
		Work: parts(map[string]simulation.Workload{
			"c1": turn(0, 0),
			"c2": func(c *simulation.Client) {
				until(c, 10_100*ms)
				lease := take(c)
				if lease == nil {
					return
				}
				value, version, err := c.Read(lease)
				until(c, 13*time.Second)
				if err == nil && c.Valid(lease) {
					_ = c.Write(lease, value+1, version)
				}
				release(c, lease)
			},
		}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), group(voting, unguarded, []string{"token-write"})...).
			and(none.reaching("the guard refused a write").without("c1 write"), "token-admit", "idempotent"),
		Reached: []string{"a process was paused", "c2 write"},
	}
}
