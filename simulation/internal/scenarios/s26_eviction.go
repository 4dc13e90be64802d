package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

const evictionSource = "the Redis documentation, \"Key eviction\": allkeys policies evict any key, volatile ones such as a lock's, which have a time to live; and its page of FLUSHALL"

func evictions() []Scenario {
	lost := func(counter string) verdicts {
		return expect(overlap.reaching(counter), "setnx", unguarded, voting).
			and(overlapRefused.reaching(counter), "token-admit idempotent").
			and(breaks(record.TwoHolders).reaching(counter, "c2 acquired", "the guard refused a write"), "token-write")
	}
	evict := fault.Fault{Kind: fault.Evict, Key: key, At: at(4 * time.Second)}
	return []Scenario{{
		ID:    "S26",
		Title: "A server whose memory is full evicts a lock on a bare majority",
		Steps: []string{
			"before: the servers' maxmemory-policy is volatile-ttl",
			"0: c1 acquires the lock on A, B and C; it can't reach D and E until 500",
			"3 300: a client that keeps the lease alive extends it, and puts it on D and E, too",
			"4 000: C evicts the lock's key",
			"4 200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Source:   evictionSource + "; go-redsync/redsync #186; redisson/redisson #1445",
		Helps:    "noeviction, which Verify insists on, and servers that are for locks alone; asking the servers that didn't grant again: a lease on g of N servers survives g-Q losses (S4d); fencing saves the resource",
		Base:     simulation.Config{Eviction: "volatile-ttl"},
		Schedule: append(cut("c1", -50*ms, 550*ms, "DE"), each("C", evict)...),
		Alone:    each("A", evict),
		Scripts:  clients(twoUpdates(0, 5*time.Second), turn(4_200*ms, 2*time.Second)),
		Verdicts: lost("a key was evicted").
			and(none.reaching("a lease was extended", "restore granted", "c2 refused").without("c2 acquired"), "topup"),
	}, oneVoteLost(Scenario{
		ID:    "S26b",
		Title: "An operator sends FLUSHALL",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"100: an operator sends FLUSHALL to C",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Source:   evictionSource,
		Helps:    "commands that name the run with its epoch: the mark has gone with the data, so the server does nothing, and doesn't vote for MaxTTL; users that may not send FLUSHALL",
		Verdicts: lost("a server was flushed").and(none.reaching("a server was flushed"), library),
	}, fault.Fault{Kind: fault.Flush, At: at(100 * ms)})}
}
