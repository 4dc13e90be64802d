package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// listing returns a design whose clients have another list of servers.
func listing(name, title, base string, change func(*simulation.Process)) designs.Design {
	return withSetting(name, title, base, func(cfg *simulation.Config) {
		inner := cfg.Locker
		if inner == nil {
			inner = simulation.Library
		}
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			change(&p)
			return inner(p)
		}
	})
}

// redisAgain is a server by another name. Its keys have a prefix, as another database would keep them apart.
type redisAgain struct{ simulation.Redis }

func (a redisAgain) Do(ctx context.Context, args ...string) (redismodel.Reply, error) {
	i := 1
	if args[0] == "EVAL" {
		i = 3
	}
	args = slices.Clone(args)
	args[i] = "again/" + args[i]
	return a.Redis.Do(ctx, args...)
}

func majorityFaults() []Scenario {
	var far simulation.Schedule // each client's requests to all servers but one
	for client := range 5 {
		name := fmt.Sprintf("c%d", client+1)
		others := "ABCDE"[:client] + "ABCDE"[client+1:]
		far = append(far, each(others, fault.Fault{Kind: fault.Delay, Process: name, Way: fault.Requests, For: 3 * time.Second, By: 20 * ms})...)
	}
	base := simulation.Config{Processes: 5, LatencyMin: ms, LatencyMax: ms} // alike for all, so that they stay in step
	base.Quorum.MaxTries = 100
	twice := func(p *simulation.Process) {
		p.Instances, p.Redis = append(p.Instances, simulation.Again(p.Instances[0])), append(p.Redis, redisAgain{p.Redis[0]})
	}
	first := func(p *simulation.Process) {
		if p.Index == 0 {
			p.Instances, p.Redis = p.Instances[:3], p.Redis[:3]
		}
	}
	return []Scenario{{
		ID:    "S12",
		Title: "Five clients at once, each nearest to another server",
		Steps: []string{
			"0: five clients ask five servers; each server votes for the client whose SET comes first, so each client has one vote",
			"about 190, 380, ...: clients that wait the same time after a lost round compete again, with the same result",
		},
		Helps:    "random delays; this library's clients then all ask the same server first",
		Source:   "the Redis document, \"Retry on Failure\": a random delay, to desynchronize; samcook/RedLock.net #60",
		Base:     base,
		Schedule: far,
		Scripts:  slices.Repeat([]Script{{until(0), await, release}}, 5),
		Free:     []Free{{Process: fault.Any, By: time.Second}},
		Verdicts: expect(breaks(record.NoProgress), "lockstep").
			and(none.reaching("acquire granted", "acquire refused", "a lease was acquired"), library),
		// This isn't the library's code, which resolves a split in the same try.
		Variants: []designs.Design{withSetting("lockstep", "Redlock by clients that all try again after the same time", "redlock",
			designs.OnMajority(func(r *designs.Recipe) { r.Every = 150 * ms }))},
	}, {
		ID:    "S13",
		Title: "One server is in the list twice",
		Steps: []string{
			"before: the list is A, B, C, D and A again, by another name and with a prefix before its keys",
			"0: c1 acquires the lock on A, B, A again and C, one more than it needs; it can't reach D",
			"100: A crashes; 150: it is back, empty: one crash loses two votes",
			"200: c2 acquires the lock on A, A again and D",
			"5 000: c1 continues under its lease",
		},
		Helps:    "comparing run IDs: a server has one vote, under whatever name",
		Source:   "redsync accepts [A, A, B] (measured); redlock-universal tests with five databases of one server (read)",
		Base:     simulation.Config{Servers: 4},
		Schedule: append(cut("c1", -50*ms, 0, "D"), each("A", crash(fault.KeepNothing))...),
		Scripts:  secondAsks,
		Verdicts: expect(breaks(record.Overvalued, record.StaleWrite, record.TwoHolders).reaching("c1 write"), "listed-twice").
			and(none.reaching("c1 write", "c2 refused", "a server lost acknowledged writes").without("c2 acquired"), "listed-checked"),
		Variants: []designs.Design{
			listing("listed-twice", "Redlock with one server in the list twice", "redlock", twice),
			listing("listed-checked", "the same by this library, which compares run IDs", "default", twice),
		},
	}, {
		// A server list was rolled out to some of the clients.
		ID:    "S14",
		Title: "Two clients have different lists of servers",
		Steps: []string{
			"-500: c2, whose list is A to E, acquires and releases the lock, as every client did before. It has come to all servers first",
			"0: c1, whose list is A, B and C, acquires the lock on A and B; it can't reach C",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Helps:    "a fingerprint of the set (name, version, N, Q and MaxTTL, but not the servers) in the mark that clients leave on each server, so the first set that comes to a server is the one that stays; a list is changed one server at a time, with MaxTTL between",
		Source:   "the Redis document doesn't mention it; peers that take a list of pools (redsync, node-redlock, RedLock.net) can't notice",
		Schedule: append(cut("c1", -50*ms, 0, "C"), each("ABC", fault.Fault{Kind: fault.Delay, Process: "c1", Op: "probe", Nth: 1, By: 10 * ms})...),
		Scripts:  clients(turn(0, 5*time.Second), append(Script{attempt(turn(-500*ms, 0)...)}, turn(200*ms, time.Second)...)),
		Verdicts: expect(breaks(record.TwoHolders).reaching("c1 acquired"), "sets-differ").
			and(none.reaching("c1 refused").without("c1 acquired"), "sets-checked"),
		Reached: []string{"c2 acquired"},
		Variants: []designs.Design{
			listing("sets-differ", "Redlock by clients of which the first knows three servers, and the others all", "redlock", first),
			listing("sets-checked", "the same by this library, which compares the sets", "default", first),
		},
	}, {
		ID:    "X2",
		Title: "The network is split, two servers against three",
		Steps: []string{
			"before: c1 reaches A and B only, c2 C, D and E only",
			"0: c1 asks, and gets A and B: two of five, or of the two that it reaches",
			"200: c2 gets C, D and E",
		},
		Helps:    "a quorum that follows from the list, whichever servers answer: only one side has N/2+1. So four servers survive no more losses than three",
		Source:   "the Redis document, \"Safety and Liveness Guarantees\", liveness property B, and \"Liveness Arguments\"; \"The Redlock Algorithm\", step 4: a majority of N",
		Schedule: append(cut("c2", -50*ms, 0, "AB"), cut("c1", -50*ms, 0, "CDE")...),
		Scripts:  clients(turn(0, 5*time.Second), keepTrying(200*ms, 40, 200*ms)),
		Free:     []Free{{Process: "c2", By: 9 * time.Second}},
		Verdicts: expect(none.reaching("c1 refused", "c2 write").without("c1 acquired"), voting, fenced).
			and(breaks(record.Overvalued, record.TwoHolders).reaching("c1 acquired", "c2 acquired"), "quorum-reachable").
			and(breaks(record.NoProgress).reaching("c2 refused"), "setnx", unguarded),
	}}
}
