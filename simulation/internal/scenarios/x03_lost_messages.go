package scenarios

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
)

func lostMessages() []Scenario {
	const notifying = "topup " + complete // their waiters are notified of a release
	return []Scenario{{
		ID:    "X3",
		Title: "The notification of a waiter is lost",
		Steps: []string{
			"0: c1 acquires the lock",
			"500: c2 waits for it, and is in the wait queue",
			"2 990: nothing reaches c2 any more",
			"3 000: c1 releases the lock, and a server notifies c2 in vain",
			"3 100: c2 is reachable again; it polls, and acquires the lock within a second",
		},
		Assumption: "a message arrives",
		Breaks:     "nothing: the lock stays free until the waiter's next poll. Without one it would wait forever",
		Helps:      "a waiter that polls as well",
		Source:     "this list, from package quorum's rule: a lost notification costs no more than the pause until the next poll",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: simulation.Cut, Process: "c2", Server: simulation.Any, At: at(2_990 * ms), For: 110 * ms, Way: simulation.Replies}},
		Scripts:    clients(turnUntil(0, 3*time.Second), waitingTurn(500*ms, 100*ms)),
		Free:       []Free{{Process: "c2", After: 3_000 * ms, By: 4_100 * ms}},
		Verdicts:   expect(none.reaching("c2 write"), notifying),
		Reached:    []string{"a notification was lost", "enqueue granted"},
	}, {
		ID:    "X4",
		Title: "The replies to a round are lost, and so are its deletes",
		Steps: []string{
			"0: c1 asks for the lock; the replies of A, B and C are lost",
			"100: c1 gives the round up, and its deletes don't reach A, B and C",
			"110: c1 tries again: its new value replaces the old one on A, B and C, in one step",
			"3 000: c2 asks for the lock, again and again",
		},
		Assumption: "a message arrives",
		Breaks:     "nothing: c1 isn't refused because of its own keys, and no value stays behind",
		Helps:      "a round that replaces the value of the round before, and deletes that stay pending until a server answers",
		Source:     "this list, from what Request.Replace says",
		Base:       simulation.Config{Witness: true},
		Schedule: slices.Concat(
			each("ABC", simulation.Fault{Kind: simulation.Cut, Process: "c1", At: at(0), For: 101 * ms, Way: simulation.Replies}),
			each("ABC", simulation.Fault{Kind: simulation.Cut, Process: "c1", At: at(50 * ms), For: 51 * ms, Way: simulation.Requests})),
		Scripts:  clients(waitingTurn(0, time.Second), keepTrying(3*time.Second, 20, 100*ms)),
		Free:     []Free{{Process: "c1", After: 101 * ms, By: 130 * ms}, {Process: "c2", After: 3_000 * ms, By: 3_300 * ms}},
		Verdicts: expect(none.reaching("c1 write", "c2 write"), notifying),
		Reached:  []string{"a value was replaced by the next one", "a reply was lost", "a round was rolled back"},
	}}
}
