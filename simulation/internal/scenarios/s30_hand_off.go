package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// handOffs are played with the designs that have a hand-off.
func handOffs() []Scenario {
	resumeAt := func(from, again time.Duration) Script {
		return Script{until(from), resume, update, until(again), ifValid(update), release}
	}
	return []Scenario{{
		ID:       "S30",
		Title:    "A handle goes to two receivers, and the second comes after a release",
		Unplayed: "a client of the box hands no lease off; package quorum's TestResumeInAnotherProcess and its neighbours do",
		Steps: []string{
			"0: c1 acquires the lock, and keeps it alive; 1 000: it hands it off to c2 and to c3",
			"1 100: c2 resumes the lease; 1 200: c1 tries to extend what it has handed off; 1 500: c3 tries to resume it; 2 000: c2 releases",
			"3 000: c3, whose handle has not expired, tries again: all five servers are free",
			"3 500: c4 acquires the lock",
		},
		Assumption: "a handle is used once",
		Breaks:     "nothing: the lease has ended at c1 before there is a handle; c3 is refused while c2 holds the lease, and afterwards",
		Helps:      "HandOff ends the lease first, and Resume counts only servers that still have the old value",
		Source:     "this library's Lease.HandOff; other libraries let the value be copied (redsync's WithValue), and then two processes consider one lease theirs",
		Base:       simulation.Config{Processes: 4},
		Scripts: clients(
			Script{until(0), acquire, keepAlive, update, until(time.Second), handOff("c2", "c3", "c3"), until(1_200 * ms), extend, ifValid(update)},
			resumeAt(1_100*ms, 2*time.Second),
			append(Script{attempt(resumeAt(1_500*ms, 3_600*ms)...)}, resumeAt(3*time.Second, 5*time.Second)...),
			turn(3_500*ms, time.Second),
		),
		Verdicts: expect(none.reaching("c2 write", "c3 refused", "c4 write").without("c3 acquired"), complete),
		Reached:  []string{"c1 handed off", "c1 noted", "a lease was resumed"},
	}}
}
