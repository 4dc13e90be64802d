package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func guardOnWrites() []Scenario {
	return []Scenario{{
		ID:    "S24",
		Title: "The guard sees tokens on writes only",
		Steps: []string{
			"0: c1 acquires the lock and reads; it is paused just before its write",
			"10 100: c2 acquires the lock, with a larger token, and reads",
			"12 000: c1's write; nobody has written under a larger token yet, so the guard lets it pass",
			"13 000: c2 writes what follows from what it read",
		},
		Assumption: "a guard knows the largest token",
		Breaks:     "c1's update is lost, in spite of tokens",
		Helps:      "showing the token before the first read: a guard admits a holder when it arrives",
		Source:     "Kleppmann's figure has writes alone; package fencing, Admit",
		Schedule:   simulation.Schedule{pausedWrite(12 * time.Second)},
		Scripts:    clients(turn(0, 0), Script{until(10_100 * ms), acquire, read, until(13 * time.Second), ifValid(write), release}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), voting, unguarded, "token-write").
			and(none.reaching("the guard refused a write").without("c1 write"), "token-admit idempotent"),
		Reached: []string{"a process was paused", "c2 write"},
	}}
}
