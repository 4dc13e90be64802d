package scenarios

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func messageFaults() []Scenario {
	impatient := simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms}}
	persistent := impatient
	persistent.Quorum.MaxTries = 20
	lost := each("CD", fault.Fault{Kind: fault.Cut, Process: "c1", At: at(-50 * ms), For: 500 * ms, Way: fault.Replies})
	return []Scenario{{
		// With one late SET, on E alone, it costs a vote; here it costs the lock.
		ID:    "S9",
		Title: "SETs arrive after their round has been rolled back",
		Steps: []string{
			"0: c1 asks all five; the SETs to C, D and E take 800",
			"50: they time out; c1 has lost and deletes its keys, of which C, D and E have none yet",
			"800: the SETs arrive, and set keys that nobody owns, until 10 800",
			"2 000: c2 asks for the lock, and gets A and B",
		},
		Helps:    "deletes that are repeated while the SET may still arrive, and a value of its own for each try (S9m)",
		Source:   "the Redis document, \"Retry on Failure\", wants the deletes sent at once, and can't mean before the SETs; madelson/DistributedLock waits for the SET before it deletes",
		Schedule: delayed("acquire", "set", 800*ms, "CDE"),
		Base:     impatient,
		Scripts:  clients(Script{attempt(turn(0, 0)...), until(3 * time.Second)}, keepTrying(2*time.Second, 12, 250*ms)),
		Free:     []Free{{Process: "c2", By: 2_100 * ms}},
		Verdicts: expect(breaks(record.NoProgress).reaching("c2 refused"), "redlock").
			and(none.reaching("c2 write"), library),
		Reached: []string{"c1 refused", "a call timed out"},
	}, {
		ID:    "S9b",
		Title: "SETs wait in the sockets of servers that hang",
		Steps: []string{
			"0: C, D and E hang; c1 asks all five, gets A and B; 50: it has lost, and deletes; no delete gets to C, D and E",
			"3 000: C, D and E continue, and execute what is in their sockets: the SETs, with their full TTL",
			"4 000: c2 asks for the lock",
		},
		Helps:  "deletes that stay pending until they are delivered: the connection that timed out is closed, and a delete on a new one doesn't get beyond the handshake with a hung server",
		Source: "measured with redsync and redis-server 7.0.15: after a failed lock with three of five servers stopped, all three continued with the dead key",
		// A client closes a connection that timed out; on a new one nothing gets beyond
		// the handshake.
		Schedule: append(each("CDE", fault.Fault{Kind: fault.Hang, At: at(-10 * ms), For: 3_010 * ms}), cut("c1", 40*ms, 2_960*ms, "CDE")...),
		Base:     impatient,
		Scripts:  clients(Script{attempt(turn(0, 0)...), until(5 * time.Second)}, keepTrying(4*time.Second, 12, 250*ms)),
		Free:     []Free{{Process: "c2", By: 4_100 * ms}},
		Verdicts: expect(breaks(record.NoProgress).reaching("c2 refused"), "redlock").
			and(none.reaching("c2 write"), library),
		Reached: []string{"c1 refused", "a call timed out"},
	}, {
		ID:    "S9m",
		Title: "One value for all tries, and the delete of the first is late",
		Steps: []string{
			"0: c1 asks until it has the lock; it can't reach D and E. The first round gets A and B, the SET to C is lost",
			"50: c1 deletes its keys; the delete to C takes 1 000",
			"100 to 900: c1's second round, with the same value, gets A, B and C",
			"1 050: the delete arrives at C, and deletes the second round's key",
			"1 500: c2 acquires the lock on C, D and E",
		},
		Helps:    "a fresh value for each round",
		Source:   "redsync draws the value once for all its tries (measured); the Redis document, \"Correct Implementation with a Single Instance\": unique across all clients and all requests",
		Schedule: slices.Concat(cut("c1", -50*ms, 0, "DE"), delayed("acquire", "set", time.Minute, "C"), delayed("release", "eval", time.Second, "C")),
		Base:     persistent,
		Scripts:  clients(Script{until(0), await, update, until(5 * time.Second), ifValid(update), release}, turn(1_500*ms, time.Second)),
		Verdicts: expect(breaks(record.StaleWrite, record.TwoHolders).reaching("c2 acquired"), "value-reused").
			and(none.reaching("c2 refused").without("c2 acquired"), voting, fenced),
		Reached: []string{"c1 acquired", "a call timed out"},
	}, {
		ID:    "S10",
		Title: "Servers execute SETs whose replies are lost",
		Steps: []string{
			"0: c1 asks all five: A and B say OK, C and D set the key but their replies are lost, E is unreachable; c1 has lost, and deletes",
			"1 000: c2 asks for the lock; only A and B are free if C and D still have the key",
		},
		Helps:  "deleting on all servers, not only where the reply was OK; the result of an unanswered SET is unknown, not a refusal",
		Source: "the Redis document, \"The Redlock Algorithm\", step 5 and \"Retry on Failure\"; antirez/redlock-rb #3, where Antirez says why; leandromoreira/redlock-rb #5, where it was fixed",
		// Neither client reaches E. c2 asks when C and D should be free again.
		Schedule: slices.Concat(lost, cut("c1", -50*ms, 0, "E"), cut("c2", -50*ms, 0, "E")),
		Scripts:  clients(Script{attempt(turn(0, 0)...), until(2 * time.Second)}, keepTrying(time.Second, 12, 250*ms)),
		Free:     []Free{{Process: "c2", By: 1_100 * ms}},
		Verdicts: expect(breaks(record.NoProgress).reaching("c2 refused"), "release-granted").
			and(none.reaching("c2 write"), voting, fenced),
		Reached: []string{"a reply was lost", "c1 refused"},
	}}
}
