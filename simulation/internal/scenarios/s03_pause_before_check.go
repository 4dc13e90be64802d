package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// beforeCheck is what the forms of S3 have in common: the replies come while c1
// doesn't run.
func beforeCheck(s Scenario, faults ...simulation.Fault) Scenario {
	s.Base = simulation.Config{LatencyMin: ms, LatencyMax: ms}
	for _, f := range faults {
		f.Process, f.At = "c1", at(1500*time.Microsecond)
		s.Schedule = append(s.Schedule, f)
	}
	s.Work = parts(map[string]simulation.Workload{
		"c1": turn(0, 0),
		"c2": turn(10_100*ms, 5*time.Second),
	})
	return s
}

// tooLate is the library's verdict on a round whose answers came too late.
var tooLate = "no lease: " + quorum.ErrTooSlow.Error()

// pauseBeforeCheck is S3, which Kleppmann's article has as a counterexample, and
// which isn't one.
func pauseBeforeCheck() Scenario {
	return beforeCheck(Scenario{
		ID:    "S3",
		Title: "The client is paused while the replies to its SETs are on their way",
		Steps: []string{
			"0: c1 asks all servers; 1: they set the key",
			"1.5: c1 is paused, the replies wait in its sockets",
			"10 100: the keys have expired; c2 gets the lock",
			"12 001: c1 runs again, and reads five times OK",
		},
		Assumption: "the round is quicker than the TTL",
		Breaks:     "nothing: c1 looks at the clock after the replies and gives up",
		Helps:      "the Redis document's step 3: the elapsed time counts from before the first SET. Who leaves it out, or starts the count late, has two holders",
		Source:     "Kleppmann, \"Breaking Redlock with bad timings\", second example; Antirez, on claim 2, shows that it doesn't hold",
		Verdicts: expect(none.reaching("c2 write", tooLate).without("c1 acquired"), group(voting, fenced)...).
			and(none.reaching("c2 write").without("c1 acquired"), "textbook", "wall-clock").
			and(breaks(simulation.TwoHolders).reaching("c1 acquired"), late...).
			and(none.reaching("c2 write", tooLate).without("c1 acquired"), "wait-some").
			and(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired"), "no-elapsed-check", "late-start").
			// The key has no expiry: none at all, or none as long as c1 is paused between
			// its two commands.
			and(none.reaching("c1 acquired").without("c2 acquired"), "setnx", "setnx-expire"),
		Reached: []string{"a process was paused"},
	}, simulation.Fault{Kind: simulation.Pause, For: 12 * time.Second})
}

// pausedAndSteppedBack is S3 with a wall clock that is set back meanwhile.
func pausedAndSteppedBack() Scenario {
	return beforeCheck(Scenario{
		ID:    "S3b",
		Title: "A pause before the replies are read, and a wall clock that is set back",
		Steps: []string{
			"0: c1 asks all servers; 1: they set the key",
			"1.5: c1 is paused, and its wall clock set back by 12 000",
			"10 100: c2 gets the lock",
			"12 001: c1 runs again; by its wall clock no time has passed",
		},
		Assumption: "the client's wall clock measures time",
		Breaks:     "mutual exclusion, for a client that counts by the wall clock alone",
		Helps:      "the larger of the monotonic and the wall clock's count",
		Source:     "Antirez, \"Is Redlock safe?\", asks for the monotonic clock in answer to Kleppmann; leandromoreira/redlock-rb #50; redlock-py, node-redlock v5 and redisson count by the wall clock (read)",
		Verdicts: expect(none.reaching("c2 write").without("c1 acquired"), "textbook").
			and(none.reaching("c2 write", tooLate).without("c1 acquired"), group(voting, fenced)...).
			and(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired"), "wall-clock").
			and(breaks(simulation.TwoHolders).reaching("c1 acquired"), late...),
		Reached: []string{"a process was paused"},
	}, simulation.Fault{Kind: simulation.Pause, For: 12 * time.Second}, simulation.Fault{Kind: simulation.Step, By: -12 * time.Second})
}

// suspendedBeforeCheck is S3 with a monotonic clock that stands still.
func suspendedBeforeCheck() Scenario {
	return beforeCheck(Scenario{
		ID:    "S3c",
		Title: "A suspension before the replies are read: the monotonic clock stands still",
		Steps: []string{
			"0: c1 asks all servers; 1: they set the key",
			"1.5: c1's machine is suspended, and with it its monotonic clock",
			"10 100: c2 gets the lock",
			"12 001: c1 runs again; by its monotonic clock no time has passed, its wall clock was set right by the host",
		},
		Assumption: "the client's monotonic clock measures time",
		Breaks:     "mutual exclusion, for a client that follows the advice to count by the monotonic clock alone",
		Helps:      "the larger of the monotonic and the wall clock's count",
		Source:     "clock_gettime(2) on CLOCK_MONOTONIC, which doesn't count time that the system is suspended; golang/go #24595",
		Verdicts: expect(none.reaching("c2 write").without("c1 acquired"), "textbook", "wall-clock").
			and(none.reaching("c2 write", tooLate).without("c1 acquired"), group(voting, fenced)...).
			and(breaks(simulation.TwoHolders).reaching("c1 acquired"), group(late, []string{"wait-some"})...),
		Reached: []string{"a process was paused"},
	}, simulation.Fault{Kind: simulation.Suspend, For: 12 * time.Second})
}

// frozenBeforeCheck is S3 where no clock tells.
func frozenBeforeCheck() Scenario {
	return beforeCheck(Scenario{
		ID:    "S3d",
		Title: "A suspension before the replies are read: both clocks stand still",
		Steps: []string{
			"0: c1 asks all servers; 1: they set the key",
			"1.5: c1's machine is stopped with both of its clocks, as a virtual machine is that is resumed from a snapshot",
			"10 100: c2 gets the lock, reads and writes",
			"12 001: c1 runs again, and nothing tells it that time has passed; it reads and writes",
		},
		Assumption: "the client has a clock that goes on",
		Breaks:     "mutual exclusion: no client can know",
		Helps:      "a fencing token: c1's is the smaller one, though it was handed out later",
		Source:     "Kleppmann, \"The synchrony assumptions of Redlock\"",
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 write"), "redlock", "quarantine", "monitor", "topup").
			and(breaks(simulation.TwoHolders).reaching("c1 write"), group(late, []string{"wait-some"})...).
			and(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), "default").
			and(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("the guard refused a write").without("c1 write"), "token-write").
			and(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("the guard refused a read").without("c1 write"), "token-admit", "idempotent"),
		Reached: []string{"a process was paused"},
		NoCure:  "the client believes in its lease whatever it does; the token saves the resource, and so S3d with a guard has no stale write",
	}, simulation.Fault{Kind: simulation.Suspend, Frozen: true, For: 12 * time.Second})
}
