package scenarios

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func tokenFaults() []Scenario {
	return []Scenario{{
		// c1 doesn't check its lease again, and writes what follows from the version that it knew
		// before.
		ID:    "S20",
		Title: "The token is fetched after the lock",
		Steps: []string{
			"0: c1 acquires the lock, and is paused before it has the token that it shows to the resource",
			"10 100: c2 acquires the lock, fetches the token 1, reads and writes",
			"12 000: c1 continues, fetches the token 2, and writes",
		},
		Helps:    "a token that is minted with the grant, in one step, and part of the lease",
		Source:   "Kleppmann, \"Making the lock safe with fencing\": the number increases each time that the lock is granted; articles that add an INCR after the lock; redisson's RedissonFencedLock.getToken (read), and redisson/redisson #4684 and #5044, where users ask what to compare it with",
		Schedule: simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(100 * ms), For: 11_900 * ms}},
		Scripts:  clients(Script{until(0), acquire, check, sleep(time.Second), write}, turn(10_100*ms, 5*time.Second)),
		Reached:  []string{"a process was paused", "c1 acquired", "c2 write"},
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders), voting, unguarded, "token-after").
			and(none.reaching("the guard refused a write").without("c1 write"), fenced),
	}, {
		ID:    "S22",
		Title: "The token is the largest of the servers' counters",
		Steps: []string{
			"-800 and -500: of three servers c3 reaches A alone, and loses both times: A has counted 2",
			"0: c1, which doesn't reach C, gets A (3) and B (1): its token is 3; it reads, and is paused just before its write",
			"10 100: c2, which doesn't reach A, gets B (2) and C (1): its token is 2; it reads and writes",
			"12 000: c1's write, under a larger token than c2's",
		},
		Helps:  "raising the counters of a quorum to the token before the lock counts as acquired. At a holder's first write it is too late: c1 has not written yet",
		Source: "Kleppmann, \"Making the lock safe with fencing\", says of counters on several nodes that they would go out of sync; FuelLabs/fuel-core, docs/poa/failover.md, has such counters and raises them at the first write; package quorum has the proof of the fix",
		Base:   simulation.Config{Servers: 3, Processes: 3},
		Schedule: slices.Concat(
			cut("c3", -850*ms, 0, "BC"), cut("c1", -850*ms, 0, "C"), cut("c2", -850*ms, 0, "A"), simulation.Schedule{pausedWrite(12 * time.Second)},
		),
		Scripts: clients(turn(0, 0), turn(10_100*ms, 5*time.Second), append(Script{attempt(turn(-800*ms, 0)...)}, turn(-500*ms, 0)...)),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TokenOrder, record.TwoHolders).reaching("c1 write"), "token-naive-max").
			and(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders).reaching("c1 write"), voting).
			and(none.reaching("the guard refused a write", "raise granted").without("c1 write"), fenced),
		Reached: []string{"c1 acquired", "c2 write", "c3 refused"},
	}, {
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
