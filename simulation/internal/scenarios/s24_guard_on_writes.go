package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

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
