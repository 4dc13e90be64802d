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
