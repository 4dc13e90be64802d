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
		Source:     "this list, from what wire.Notifier says: a lost call costs no more than the pause until the next look",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: simulation.Cut, Process: "c2", Server: simulation.Any, At: at(2_990 * ms), For: 110 * ms, Way: simulation.Replies}},
		Work: parts(map[string]simulation.Workload{
			"c1": turnUntil(0, 3*time.Second),
			"c2": inLine(500*ms, 100*ms),
		}),
		Free:     []Free{{Process: "c2", After: 3_000 * ms, By: 4_100 * ms}},
		Verdicts: expect(none.reaching("c2 write"), calling...),
		Reached:  []string{"a notification was lost", "enqueue granted"},
	}
}

// roundLost is X4.
func roundLost() Scenario {
	return Scenario{
		ID:    "X4",
		Title: "The answers to a round are lost, and so are its deletes",
		Steps: []string{
			"0: c1 asks for the lock; what A, B and C answer is lost",
			"100: c1 gives the round up, and its deletes don't reach A, B and C",
			"110: c1 tries again: its new value replaces the old one on A, B and C, in one step",
			"3 000: c2 asks for the lock, again and again",
		},
		Assumption: "a message arrives",
		Breaks:     "nothing: c1 isn't refused by the keys that it left behind itself, and no value stays behind",
		Helps:      "a round that replaces the value of the round before, and deletes that are owed until a server answers",
		Source:     "this list, from what Request.Replace says",
		Base:       simulation.Config{Witness: true},
		Schedule: simulation.Schedule{
			{Kind: simulation.Cut, Process: "c1", Server: "A", At: at(0), For: 101 * ms, Way: simulation.Replies},
			{Kind: simulation.Cut, Process: "c1", Server: "B", At: at(0), For: 101 * ms, Way: simulation.Replies},
			{Kind: simulation.Cut, Process: "c1", Server: "C", At: at(0), For: 101 * ms, Way: simulation.Replies},
			{Kind: simulation.Cut, Process: "c1", Server: "A", At: at(50 * ms), For: 51 * ms, Way: simulation.Requests},
			{Kind: simulation.Cut, Process: "c1", Server: "B", At: at(50 * ms), For: 51 * ms, Way: simulation.Requests},
			{Kind: simulation.Cut, Process: "c1", Server: "C", At: at(50 * ms), For: 51 * ms, Way: simulation.Requests},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": inLine(0, time.Second),
			"c2": keepTrying(3*time.Second, 20, 100*ms),
		}),
		Free:     []Free{{Process: "c1", After: 101 * ms, By: 130 * ms}, {Process: "c2", After: 3_000 * ms, By: 3_300 * ms}},
		Verdicts: expect(none.reaching("c1 write", "c2 write"), calling...),
		Reached:  []string{"a value was replaced by the next one", "a reply was lost", "a round was rolled back"},
	}
}
