package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// handOffs are played with the designs that have a hand-off.
func handOffs() []Scenario {
	const source = "this library's Lease.HandOff; other libraries let the value be copied (redsync's WithValue), and then two processes consider one lease theirs"
	resumeAt := func(from, again time.Duration) Script {
		return Script{until(from), resume, update, until(again), ifValid(update), release}
	}
	return []Scenario{{
		ID:    "S30",
		Title: "The sender of a lease is paused in the middle of handing it off",
		Steps: []string{
			"0: c1 acquires the lock, and keeps it alive",
			"1 000: c1 hands it off, and is paused for 2 000 within HandOff",
			"1 500 to 8 500: c3 asks again and again",
			"3 000: c1 continues, and sends the handle; c2 resumes the lease, and holds it until 8 000",
			"3 500: c1 tries to extend what it has handed off",
		},
		Assumption: "a lease has one holder at any moment",
		Breaks:     "nothing: the lease has ended at c1 before there is a handle, and continues under a value and a token of c2's own",
		Helps:      "HandOff ends the lease first",
		Source:     source,
		Base:       simulation.Config{Processes: 3},
		Schedule: simulation.Schedule{
			{Kind: fault.Pause, Process: "c1", Op: "clock", Func: "quorum.(*Lease).HandOff", Nth: 1, For: 2 * time.Second, Stale: true},
		},
		Scripts: clients(
			Script{until(0), acquire, keepAlive, update, until(time.Second), handOff("c2"), until(3_500 * ms), extend, ifValid(update)},
			resumeAt(0, 8*time.Second),
			keepTrying(1_500*ms, 20, 350*ms),
		),
		Verdicts: expect(none.reaching("c2 acquired", "c2 write", "c3 refused"), complete),
		Reached:  []string{"a process stopped at a reading of its clock", "c1 handed off", "c1 noted", "a lease was resumed"},
	}, {
		ID:    "S30c",
		Title: "A handle goes to two receivers, and the second comes after a release",
		Steps: []string{
			"0: c1 acquires the lock; 1 000: it hands it off to c2 and to c3",
			"1 100: c2 resumes the lease; 1 500: c3 tries to; 2 000: c2 releases",
			"3 000: c3, whose handle has not expired, tries again: all five servers are free",
			"3 500: c4 acquires the lock",
		},
		Assumption: "a handle is used once",
		Breaks:     "nothing: c3 is refused while c2 holds the lease, and afterwards",
		Helps:      "Resume counts only servers that still have the old value",
		Source:     source,
		Base:       simulation.Config{Processes: 4},
		Scripts: clients(
			Script{until(0), acquire, update, until(time.Second), handOff("c2", "c3", "c3")},
			resumeAt(1_100*ms, 2*time.Second),
			append(Script{attempt(resumeAt(1_500*ms, 3_600*ms)...)}, resumeAt(3*time.Second, 5*time.Second)...),
			turn(3_500*ms, time.Second),
		),
		Verdicts: expect(none.reaching("c2 write", "c3 refused", "c4 write").without("c3 acquired"), complete),
		Reached:  []string{"c1 handed off", "a lease was resumed"},
	}}
}
