package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func serverTwice() []Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S13",
		Title: "One server is in the list twice",
		Steps: []string{
			"before: the list is A, B, C, D and A again, by another name and with a prefix before its keys",
			"0: c1 acquires the lock on A, B, A again and C, one more than it needs; it can't reach D",
			"50: A crashes; 150: it is back, empty: one crash loses two votes",
			"200: c2 acquires the lock on A, A again and D",
			"5 000: c1 continues under its lease",
		},
		Assumption: "servers fail independently",
		Breaks:     "mutual exclusion, by a failure that four votes of five servers survive",
		Helps:      "comparing run IDs: a server has one vote, under whatever name",
		Source:     "redsync accepts [A, A, B] (measured); redlock-universal tests with five databases of one server (read)",
		Base:       simulation.Config{Servers: 4},
		Twice:      "A",
		Verdicts: expect(breaks(record.StaleWrite, record.TwoHolders).reaching("c1 write"), "redlock").
			and(none.reaching("c1 write", "c2 refused", "a server lost acknowledged writes").without("c2 acquired"), "quarantine", watching, fenced),
	})
	s.Schedule, s.Alone = append(cut(-50*ms, 0, "D"), each("A", crash(fault.KeepNothing))...), nil
	return []Scenario{s}
}

// listTwice adds a server to a client's list a second time.
func listTwice(server string, inner func(simulation.Process) (simulation.Locker, error)) func(simulation.Process) (simulation.Locker, error) {
	return func(p simulation.Process) (simulation.Locker, error) {
		i := slices.IndexFunc(p.Instances, func(inst wire.Instance) bool { return inst.Name() == server })
		p.Instances, p.Redis = append(p.Instances, again{p.Instances[i]}), append(p.Redis, p.Redis[i])
		if inner == nil {
			inner = simulation.Library
		}
		locker, err := inner(p)
		return listedTwice{locker}, err
	}
}

// listedTwice is the library with a server that is listed twice. A vote may be under its other name
// alone, where the checks don't look for it: they don't count the servers that have a lease.
type listedTwice struct{ simulation.Locker }

func (l listedTwice) Coordinator() *quorum.Coordinator {
	return l.Locker.(simulation.Coordinated).Coordinator()
}

func (l listedTwice) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return uncounted{lease}, nil
}

type uncounted struct{ simulation.Lease }

func (uncounted) Quorum() int { return 0 }

// again is a server by another name. Its keys have a prefix, as another database would keep them apart.
type again struct{ wire.Instance }

func (a again) Name() string { return a.Instance.Name() + " again" }

func (a again) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	cmd.Keys = slices.Clone(cmd.Keys)
	for i, key := range cmd.Keys {
		cmd.Keys[i] = "again/" + key
	}
	a.Instance.Send(cmd, timeout, to)
}

func differentSets() []Scenario {
	c1, c2 := turn(0, 5*time.Second), turn(200*ms, time.Second)
	return []Scenario{{
		// A server list was rolled out to some of the clients.
		ID:    "S14",
		Title: "Two clients have different lists of servers",
		Steps: []string{
			"-500: c2, whose list is A to E, acquires and releases the lock, as every client did before. It has come to all servers first",
			"0: c1, whose list is A, B and C, acquires the lock on A and B; it can't reach C",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: "all clients agree on the servers",
		Breaks:     "mutual exclusion: two of three and three of five have no server in common",
		Helps:      "a fingerprint of the set (name, version, N, Q and MaxTTL, but not the servers) in the mark that clients leave on each server, so the first set that comes to a server is the one that stays; a list is changed one server at a time, with MaxTTL between",
		Source:     "the Redis document doesn't mention it; peers that take a list of pools (redsync, node-redlock, RedLock.net) can't notice",
		Schedule:   append(cut(-50*ms, 0, "C"), delayed("probe", 10*ms, "ABC")...),
		Scripts:    clients(c1, append(Script{attempt(turn(-500*ms, 0)...)}, c2...)),
		Verdicts: expect(breaks(record.TwoHolders).reaching("c1 acquired"), "sets-differ").
			and(none.reaching("c1 refused").without("c1 acquired"), "sets-checked"),
		Reached: []string{"c2 acquired"},
	}}
}

func even() []Scenario {
	lateForC2 := delayed("acquire", 10*ms, "AB")
	for i := range lateForC2 {
		lateForC2[i].Process = "c2"
	}
	return []Scenario{{
		ID:    "S18",
		Title: "Four servers, and half of them is taken for enough",
		Steps: []string{
			"0: c1 reaches A and B first, c2 C and D; each gets two, and is refused by two",
			"a client that takes half of the servers for enough has the lock; both are done at 5 000; c1 works",
		},
		Assumption: "any two quorums have a server in common",
		Breaks:     "mutual exclusion",
		Helps:      "a quorum of N/2+1, which is 3 of 4: then both lose, or, with this library's code, one of them goes on until it has three. The fourth server has no benefit: three servers survive the loss of one, too. A round is lost as soon as N-Q+1 = 2 servers refuse",
		Source:     "samcook/RedLock.net #29; node-redlock waits for Q refusals, which never come with two against two (read)",
		Base:       simulation.Config{Servers: 4, LatencyMin: ms, LatencyMax: ms},
		Schedule:   append(delayed("acquire", 10*ms, "CD"), lateForC2...),
		Scripts: clients(
			Script{until(0), acquire, until(time.Second), update, until(5 * time.Second), release},
			Script{until(0), acquire, until(5 * time.Second), release},
		),
		Verdicts: expect(breaks(record.Overvalued, record.TwoHolders).reaching("c1 acquired", "c2 acquired"), "half-quorum").
			and(none.reaching("c1 refused", "c2 refused").without("c1 acquired", "c2 acquired"), "textbook").
			and(none.reaching("acquire refused", "a lease was acquired"), voting, fenced),
	}}
}

func bareMajority() []Scenario {
	return []Scenario{{
		ID:    "S19",
		Title: "A lease on a bare majority loses one of its keys",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E until 500",
			"3 300: a client that keeps the lease alive extends it, and puts it on D and E, too",
			"4 000: C loses the key",
			"4 200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Assumption: votesStand,
		Breaks:     "mutual exclusion, by one loss: a lease on g of N servers survives g-Q of them",
		Helps:      "asking the servers that didn't grant again: a lease on all five survives two losses",
		Source:     "go-redsync/redsync #186; redisson/redisson #1445",
		Schedule:   append(cut(-50*ms, 550*ms, "DE"), each("C", fault.Fault{Kind: fault.Evict, Key: key, At: at(4 * time.Second)})...),
		Scripts:    clients(twoUpdatesAndRelease(0, 5*time.Second), turn(4_200*ms, 2*time.Second)),
		Verdicts: expect(overlap, "redlock quarantine monitor default").
			and(none.reaching("a lease was extended", "restore granted", "c2 refused").without("c2 acquired"), "topup kept-alive").
			and(overlapRefused, "token-admit idempotent").
			and(breaks(record.TwoHolders).reaching("c2 acquired", "the guard refused a write"), "token-write"),
		Reached:  []string{"c1 acquired"},
		Variants: []designs.Design{keptAlive()},
	}}
}
