package scenarios

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// verified is the library used by a client that calls Verify before it relies on the
// servers, and stops if Verify returns an error.
func verified() designs.Design {
	return wrapped("verified", "this library by a client that heeds Verify", "default",
		func(_ simulation.Process, l simulation.Locker) simulation.Locker { return heeding{l} })
}

// heeding is a Locker that calls Verify first.
type heeding struct{ simulation.Locker }

func (h heeding) Coordinator() *quorum.Coordinator {
	return h.Locker.(simulation.Coordinated).Coordinator()
}

func (h heeding) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	if _, err := h.Coordinator().Verify(ctx); err != nil {
		return nil, fmt.Errorf("the servers aren't fit for locks: %w", err)
	}
	return h.Locker.TryAcquire(ctx, key)
}

const evictionSource = "the Redis documentation, \"Key eviction\": allkeys policies evict any key, volatile ones such as a lock's, which have a time to live; and its page of FLUSHALL"

func evictions() []Scenario {
	lost := func(counter string) verdicts {
		return expect(overlap.reaching(counter), "setnx", unguarded, voting).
			and(overlapRefused.reaching(counter), "token-admit idempotent").
			and(breaks(record.TwoHolders).reaching(counter, "c2 acquired", "the guard refused a write"), "token-write")
	}
	evict := fault.Fault{Kind: fault.Evict, Key: key, At: at(50 * ms)}
	return []Scenario{oneVoteLost(Scenario{
		ID:    "S26",
		Title: "A server whose memory is full evicts the lock",
		Steps: []string{
			"before: the servers' maxmemory-policy is volatile-ttl",
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"50: C evicts the lock's key",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: votesStand,
		Source:     evictionSource,
		Breaks:     "mutual exclusion; the run ID stays the same, so no quarantine notices",
		Helps:      "noeviction, which Verify insists on, and servers that are for locks alone; a lease on all five (as in S4d); fencing saves the resource",
		Base:       simulation.Config{Eviction: "volatile-ttl"},
		Verdicts:   lost("a key was evicted").and(none.reaching("c1 refused", "c2 refused").without("c1 acquired", "c2 acquired"), "verified"),
		Variants:   []designs.Design{verified()},
	}, evict), oneVoteLost(Scenario{
		ID:    "S26b",
		Title: "An operator sends FLUSHALL",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"50: an operator sends FLUSHALL to C",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: votesStand,
		Source:     evictionSource,
		Breaks:     "mutual exclusion, for clients that don't check the mark; the run ID and the replication ID stay the same",
		Helps:      "commands that name the run with its epoch: the mark has gone with the data, so the server does nothing, and doesn't vote for MaxTTL; users that may not send FLUSHALL",
		Verdicts:   lost("a server was flushed").and(none.reaching("a server was flushed"), "quarantine", watching, fenced),
	}, fault.Fault{Kind: fault.Flush, At: at(50 * ms)})}
}
