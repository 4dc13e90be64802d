package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// calling are the designs whose waiters are called when a lock is released: the
// library with all of its doors.
var calling = group([]string{"topup", "default"}, fenced)

// wakeUpLost is X3.
func wakeUpLost() Scenario {
	return Scenario{
		ID:    "X3",
		Title: "The call that should wake a waiter is lost",
		Steps: []string{
			"0: c1 gets the lock",
			"500: c2 waits for it, and is in the line of those to be called",
			"2 990: nothing reaches c2 any more",
			"3 000: c1 releases the lock, and a server calls c2 in vain",
			"3 100: c2 is reached again; it looks by itself, and gets the lock within a second",
		},
		Assumption: "a message arrives",
		Breaks:     "nothing: the lock stays free until the waiter's next look. Without one it would wait for ever",
		Helps:      "a waiter that polls as well",
		Source:     "this list, from what quorum.Listener says: a lost call costs no more than the pause until the next look",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: simulation.Cut, Process: "c2", Server: simulation.Any, At: at(2_990 * ms), For: 110 * ms, Way: simulation.Replies}},
		Work: parts(map[string]simulation.Workload{
			"c1": turnUntil(0, 3*time.Second),
			"c2": inLine(500*ms, 100*ms),
		}),
		Free:     []Free{{Process: "c2", After: 3_000 * ms, By: 4_100 * ms}},
		Verdicts: expect(none.reaching("c2 write"), calling...),
		Reached:  []string{"a call to a waiter was lost", "enlist granted"},
	}
}

// handOverLost is X4.
func handOverLost() Scenario {
	return Scenario{
		ID:    "X4",
		Title: "The lock passes on within a process, and the answers are lost",
		Steps: []string{
			"0: two goroutines of c1 ask for the lock; one gets it, the other waits",
			"900: what A, B and C answer to c1 is lost from now on",
			"1 000: the first one releases it, and the second one's value replaces the first one's on all servers, in one step; c1 hears of two",
			"1 100: the answers come again; the second one has had to give up, and tries anew",
			"3 000: c2 asks for the lock, again and again",
		},
		Assumption: "a message arrives",
		Breaks:     "nothing: neither value stays behind, and never do two have the lock",
		Helps:      "an answer that didn't come is taken for neither yes nor no: both values are deleted, each by itself",
		Source:     "this list, from what Command.Replace says",
		Base:       simulation.Config{Witness: true},
		Schedule: simulation.Schedule{
			{Kind: simulation.Cut, Process: "c1", Server: "A", At: at(900 * ms), For: 200 * ms, Way: simulation.Replies},
			{Kind: simulation.Cut, Process: "c1", Server: "B", At: at(900 * ms), For: 200 * ms, Way: simulation.Replies},
			{Kind: simulation.Cut, Process: "c1", Server: "C", At: at(900 * ms), For: 200 * ms, Way: simulation.Replies},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				c.Go(inLine(0, time.Second))
				inLine(0, time.Second)(c)
			},
			"c2": keepTrying(3*time.Second, 20, 100*ms),
		}),
		Free:     []Free{{Process: "c1", After: 1_000 * ms, By: 2_000 * ms}, {Process: "c2", After: 3_000 * ms, By: 3_300 * ms}},
		Verdicts: expect(none.reaching("c1 write", "c2 write"), calling...),
		Reached:  []string{"a lease was replaced by the next one", "a reply was lost", "a round was rolled back"},
	}
}
