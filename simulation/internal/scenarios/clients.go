package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func clientFaults() []Scenario {
	return []Scenario{{
		ID:    "S1",
		Title: "The holder is paused between its check of the lease and its write",
		Steps: []string{
			"0: c1 acquires the lock, valid to 9 898 at most, reads, checks its lease, and is paused just before its write",
			"10 100: the keys have expired; c2 acquires the lock, reads and writes",
			"12 000: c1 continues and sends its write",
		},
		Helps:    "a fencing token that the resource checks. Another check of the lease only makes the gap smaller; nothing closes it",
		Source:   "Kleppmann, \"Protecting a resource with a lock\" and its first figure; he reports that it happened in HBase",
		Schedule: simulation.Schedule{pausedWrite(12 * time.Second)},
		Scripts:  clients(turn(0, 0), turn(10_100*ms, 5*time.Second)),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders).reaching("c1 write", "c2 write"), unguarded, voting, "repeats-only").
			and(none.reaching("the guard refused a write", "c2 write").without("c1 write"), fenced).
			and(none.reaching("c2 refused", "c1 write").without("c2 acquired"), "setnx"),
		Reached: []string{"a process was paused"},
	}, {
		ID:    "S2",
		Title: "A write takes a minute and a half to arrive",
		Steps: []string{
			"0: c1 acquires the lock",
			"5 000: c1, with half of its validity left, reads and writes; the packet takes 90 s",
			"6 000: c1 has no reply, and releases the lock",
			"10 200: c2 acquires the lock, reads, writes, releases",
			"95 000: c1's write arrives and is executed",
		},
		Helps:  "a fencing token that the resource checks, and nothing else: the lock did nothing wrong, so a perfect one would not help",
		Source: "Kleppmann, \"Protecting a resource with a lock\": packets can be delayed as processes can; he cites a network that delayed packets for 90 s",
		Schedule: simulation.Schedule{
			{Kind: fault.Delay, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 90 * time.Second},
		},
		Scripts: clients(
			Script{until(0), acquire, until(5 * time.Second), update, release},
			Script{attempt(turn(10_200*ms, 0)...), until(100 * time.Second)},
		),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite).reaching("c1 write"), "setnx repeats-only", unguarded, voting).
			and(none.reaching("the guard refused a write").without("c1 write"), fenced),
		Reached: []string{"c1 released", "c2 write"},
	}, {
		ID:    "S2b",
		Title: "A write arrives twice",
		Steps: []string{
			"0: c1 acquires the lock, reads and writes; a proxy or a client library sends the write again later",
			"1 000: c1 reads and writes once more",
			"3 000: the first write arrives again, and overwrites the second",
		},
		Helps:  "a resource that recognises repeated writes: tokens order leases, numbers identify writes",
		Source: "Antirez, \"Is Redlock safe?\", on resources that compare rather than order; retries of HTTP and database clients, the reason for idempotency keys",
		Schedule: simulation.Schedule{
			{Kind: fault.Duplicate, Process: "c1", Server: fault.Resource, Op: "write", Nth: 1, By: 3 * time.Second},
		},
		Scripts: clients(Script{until(0), acquire, update, until(time.Second), update, until(5 * time.Second), release}),
		Verdicts: expect(breaks(record.LostUpdate), "setnx", unguarded, voting, "token-write token-admit").
			and(none.reaching("the guard refused a write"), "idempotent repeats-only"),
		Reached: []string{"a request arrived twice", "c1 write"},
	}, {
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
		Verdicts: expect(none.reaching("c2 write", "no lease: "+quorum.ErrTooSlow.Error()).without("c1 acquired"), voting, fenced, "wait-some wall-clock").
			and(breaks(record.TwoHolders).reaching("c1 write"), late).
			and(breaks(record.Overvalued, record.TwoHolders).reaching("c1 write"), "late-start").
			// The key has no expiry, or none while c1 is paused between its two commands.
			and(none.reaching("c1 acquired").without("c2 acquired"), "setnx setnx-expire"),
	}, {
		ID:    "S11a",
		Title: "An extension puts an expired lease back",
		Steps: []string{
			"0: c1 acquires the lock, and reads",
			"10 005: the keys have expired; 10 010: c2 acquires the lock, reads, writes, and releases it at 10 018",
			"10 030: c1 extends; if the extension sets missing keys, c1 has \"its\" lock again",
			"10 060: c1 writes what follows from its old reading",
		},
		Helps:  "an extension counts only where the key still has the lease's value, and none is sent past the deadline",
		Source: "the Redis document, \"Making the algorithm more reliable: Extending the lock\"; samcook/RedLock.net #48 and leandromoreira/redlock-rb #36; redsync's WithSetNXOnExtend (measured)",
		Scripts: clients(
			Script{until(0), acquire, read, until(10_030 * ms), extendOrEnd, until(10_060 * ms), ifValid(write), release},
			turn(10_010*ms, 0),
		),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders).reaching("c1 write"), "extend-sets").
			and(none.reaching("c1 noted").without("c1 write"), "redlock", complete, unguarded),
		Reached: []string{"c2 write", "c2 released"},
	}, {
		ID:    "S11f",
		Title: "Work that hangs is kept alive",
		Steps: []string{
			"0: c1 acquires the lock, and hangs for five minutes; the renewal of the lease continues",
			"20 000 to 60 000: c2 asks again and again",
		},
		Helps:   "a bound on the total duration of a lease (Terms.MaxLife)",
		Source:  "samcook/RedLock.net #39 and redisson's watchdog: users ask why a lock outlives its expiry",
		Scripts: clients(Script{until(0), acquire, update, sleep(5 * time.Minute)}, keepTrying(20*time.Second, 80, 500*ms)),
		Free:    []Free{{Process: "c2", By: 60 * time.Second}},
		Verdicts: expect(breaks(record.NoProgress).reaching("a lease was extended"), "topup").
			and(none.reaching("a lease was extended", "c2 write"), "topup-30s").
			and(none.reaching("c2 write"), "redlock", complete),
		Reached: []string{"c1 acquired"},
		Variants: []designs.Design{withSetting("topup-30s", "this library with KeepAlive, for 30 s at most", "topup",
			func(c *simulation.Config) { c.Quorum.MaxLife = 30 * time.Second })},
	}, {
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
	}, {
		ID:    "X1",
		Title: "The holder dies",
		Steps: []string{
			"0: c1 acquires the lock, and dies before it writes",
			"100 to 10 200: c2 asks every 100, and acquires the lock when the keys have expired",
		},
		Helps:    "a lease: the lock is blocked for a TTL, no longer",
		Source:   "the Redis document, \"Safety and Liveness Guarantees\", liveness property A",
		Base:     simulation.Config{Witness: true},
		Schedule: simulation.Schedule{crashedWrite},
		Scripts:  clients(turn(0, 0), keepTrying(100*ms, 102, 100*ms)),
		Free:     []Free{{Process: "c2", After: 9_900 * ms, By: 10_400 * ms}},
		Verdicts: expect(none.reaching("c2 write"), unguarded, voting, fenced).
			and(breaks(record.NoProgress, record.NeverFree), "setnx"),
		Reached: []string{"a process crashed", "c1 acquired"},
	}}
}
