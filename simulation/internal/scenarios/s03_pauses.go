package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// tooLate is the library's error for a round that ended too late.
var tooLate = "no lease: " + quorum.ErrTooSlow.Error()

// pauseBeforeCheck is Kleppmann's counterexample, which is none.
func pauseBeforeCheck() []Scenario {
	return []Scenario{{
		ID:    "S3",
		Title: "The client is paused while the replies to its SETs are in flight",
		Steps: []string{
			"0: c1 asks all servers; 1: they set the key",
			"1.5: c1 is paused; the replies wait in its sockets",
			"10 100: the keys have expired; c2 acquires the lock",
			"12 001: c1 continues, and reads OK five times",
		},
		Helps:    "the Redis document's step 3: the elapsed time counts from before the first SET. A client that omits the step, or starts to count later, causes two holders",
		Source:   "Kleppmann, \"Breaking Redlock with bad timings\", second example; Antirez, on claim 2, shows that it doesn't hold",
		Base:     simulation.Config{LatencyMin: ms, LatencyMax: ms},
		Schedule: simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(1500 * time.Microsecond), For: 12 * time.Second}},
		Scripts:  clients(turn(0, 0), turn(10_100*ms, 5*time.Second)),
		Reached:  []string{"a process was paused"},
		Verdicts: expect(none.reaching("c2 write", tooLate).without("c1 acquired"), voting, fenced, "wait-some wall-clock").
			and(breaks(record.TwoHolders).reaching("c1 write"), late).
			and(breaks(record.Overvalued, record.TwoHolders).reaching("c1 write"), "late-start").
			// The key has no expiry, or none while c1 is paused between its two commands.
			and(none.reaching("c1 acquired").without("c2 acquired"), "setnx setnx-expire"),
	}}
}

func suspensions() []Scenario {
	return []Scenario{{
		ID:    "S15",
		Title: "The holder's machine is suspended",
		Steps: []string{
			"0: c1 acquires the lock",
			"1 000 to 60 000: c1's machine is suspended; its monotonic clock (CLOCK_MONOTONIC, which Go reads) stands still, the wall clock is right afterwards",
			"10 100: c2 acquires the lock, writes, releases",
			"60 500: c1 has used a second and a half by its monotonic clock, and checks its lease",
		},
		Helps:    "the larger of the elapsed times by the monotonic and by the wall clock; on Linux also CLOCK_BOOTTIME, a monotonic clock that includes suspension, which Go's time package doesn't read. If the wall clock stands still, too, only a fencing token helps",
		Source:   "clock_gettime(2), CLOCK_MONOTONIC and CLOCK_BOOTTIME; golang/go #24595 asked for CLOCK_BOOTTIME and was closed; Antirez's advice, the monotonic clock, is the wrong one here unless it is CLOCK_BOOTTIME",
		Schedule: simulation.Schedule{{Kind: fault.Suspend, Process: "c1", At: at(time.Second), For: 59 * time.Second}},
		// c1 sleeps by the clock that stands still, and not so long that the first extension is due.
		Scripts: clients(Script{until(0), acquire, sleep(1500 * ms), ifValid(update), release}, turn(10_100*ms, time.Second)),
		Verdicts: expect(none.without("c1 write"), "redlock wall-clock", complete).
			and(breaks(record.StaleWrite, record.TwoHolders).reaching("c1 write"), unguarded),
		Reached: []string{"c1 acquired", "c2 write"},
	}}
}
