package scenarios

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// verified is the library used by a client that does as it is told: it calls Verify
// before it relies on the servers, and goes no further if that says no.
func verified() designs.Design {
	return withSetting("verified", "this library by a client that heeds Verify", "default", func(c *simulation.Config) {
		c.Locker = func(p simulation.Process) (simulation.Locker, error) {
			coordinator, err := quorum.New(p.Config, p.Instances...)
			if err != nil {
				return nil, err
			}
			return heeding{simulation.Library(coordinator), coordinator}, nil
		}
	})
}

// heeding is a Locker that asks Verify first.
type heeding struct {
	simulation.Locker
	coordinator *quorum.Coordinator
}

var _ simulation.Coordinated = heeding{}

func (h heeding) Coordinator() *quorum.Coordinator { return h.coordinator }

func (h heeding) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	if _, err := h.coordinator.Verify(ctx); err != nil {
		return nil, fmt.Errorf("the servers aren't fit for locks: %w", err)
	}
	return h.Locker.TryAcquire(ctx, key)
}

const evictionSource = "the Redis documentation, \"Key eviction\": allkeys policies evict any key, volatile ones such as a lock's, which have a time to live; and its page of FLUSHALL"

// forgetting is what the forms of S26 have in common.
func forgetting(id, title, what string, kind simulation.Kind, key, counted string) Scenario {
	return oneVoteLost(Scenario{
		ID:    id,
		Title: title,
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: " + what,
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "a vote once given stands",
		Breaks:     "mutual exclusion; the run id stays the same, so that no quarantine notices",
		Source:     evictionSource,
		Verdicts: expect(overlap.reaching(counted), group([]string{"setnx"}, unguarded, voting)...).
			and(breaks(simulation.TwoHolders).reaching(counted, "c2 acquired", "the guard refused a read"), "token-admit", "idempotent").
			and(breaks(simulation.TwoHolders).reaching(counted, "c2 acquired", "the guard refused a write"), "token-write"),
	}, simulation.Fault{Kind: kind, Key: key, At: at(50 * ms)})
}

// evicted is S26.
func evicted() Scenario {
	s := forgetting("S26", "A server whose memory is full evicts the lock", "C evicts the lock's key", simulation.Evict, key, "a key was evicted")
	s.Base.Eviction, s.Variants = "volatile-ttl", []designs.Design{verified()}
	s.Steps = append([]string{"before: the servers' maxmemory-policy is volatile-ttl"}, s.Steps...)
	s.Helps = "noeviction, which Verify insists on, and servers that are for locks alone; a lease on all five (S26c); fencing saves the resource"
	s.Verdicts["verified"] = none.reaching("c1 refused", "c2 refused").without("c1 acquired", "c2 acquired")
	return s
}

// flushed is S26b.
func flushed() Scenario {
	s := forgetting("S26b", "Somebody sends FLUSHALL", "somebody sends FLUSHALL to C", simulation.Flush, "", "a server was flushed")
	s.Breaks = "mutual exclusion, where nobody asks for the mark; the run ID and the replication ID stay the same"
	s.Helps = "commands that name the run with its epoch: the mark has gone with the data, so the server does nothing, and stays out for MaxTTL; accounts that may not FLUSHALL"
	for _, design := range []string{"quarantine", "monitor", "topup", "default", "token-write", "token-admit", "idempotent"} {
		s.Verdicts[design] = none.reaching("a server was flushed")
	}
	return s
}

// evictedFromFive is S26c.
func evictedFromFive() Scenario {
	s := forgetting("S26c", "Two servers evict a lock that is on all five", "C and D evict the lock's key", simulation.Evict, key, "a key was evicted")
	s.Steps[0], s.Steps[2] = "0: c1 gets the lock on all five", "200: c2 asks, and gets C and D"
	s.Breaks, s.Helps = "nothing: a lease on five survives two losses", "more votes than a quorum"
	s.Schedule, s.Alone = nil, nil
	for _, server := range []string{"C", "D"} {
		s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Evict, Server: server, Key: key, At: at(50 * ms)})
	}
	s.Verdicts = expect(refusedSecond.reaching("a key was evicted"), group(voting, fenced)...)
	return s
}
