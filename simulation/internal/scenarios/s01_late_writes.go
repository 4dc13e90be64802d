package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func pauseAfterCheck() []Scenario {
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
	}}
}

func delayedWrite() []Scenario {
	return []Scenario{{
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
	}}
}

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
		Helps:    "showing the token before the first read: a guard admits a holder when it arrives",
		Source:   "Kleppmann's figure has writes alone; package fencing, Admit",
		Schedule: simulation.Schedule{pausedWrite(12 * time.Second)},
		Scripts:  clients(turn(0, 0), Script{until(10_100 * ms), acquire, read, until(13 * time.Second), ifValid(write), release}),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders).reaching("c1 write"), voting, unguarded, "token-write").
			and(none.reaching("the guard refused a write").without("c1 write"), "token-admit idempotent"),
		Reached: []string{"a process was paused", "c2 write"},
	}}
}
