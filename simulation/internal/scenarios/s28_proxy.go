package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// runHidden is the library on servers that don't tell in which run they are, so that it
// has nothing to compare.
func runHidden() designs.Design {
	return withSetting("run-hidden", "this library on servers that hide in which run they are", "default", func(c *simulation.Config) { c.HideRunID = true })
}

// behindProxy puts a proxy before the victim of oneVoteLost.
func behindProxy(s Scenario) Scenario {
	s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Proxy, Process: simulation.Any, Server: "C"})
	s.Alone = append(s.Alone, simulation.Fault{Kind: simulation.Proxy, Process: simulation.Any, Server: "A"})
	return s
}

// restartBehindProxy is S28.
func restartBehindProxy() Scenario {
	return behindProxy(oneVoteLost(Scenario{
		ID:    "S28",
		Title: "A server restarts empty behind a proxy, and no connection breaks",
		Steps: []string{
			"before: a proxy keeps its clients' connections while its server is away",
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C crashes; 150: it is back, without any key. No client sees a connection break",
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "a client notices when its server is another one, because its connection breaks",
		Breaks:     "mutual exclusion, also for a client that asks on each new connection whether the server was restarted",
		Helps:      "each command names the run of the server that it is meant for, and the server compares the two in the same step; a server in another run doesn't vote for MaxTTL",
		Source:     "twemproxy, Envoy's Redis filter and the proxies of managed services keep client connections over a server's restart; otherwise as S7",
		Verdicts: expect(overlap, group([]string{"redlock", "unwatched", "run-hidden", "setnx"}, unguarded)...).
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a quarantine began: restarted"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: append(unwatched(), runHidden()),
		Reached:  []string{"a server was restarted", "a server lost acknowledged writes"},
	}, crash(simulation.KeepNothing)))
}

// promotionWithoutRestart is S28b.
func promotionWithoutRestart() Scenario {
	return oneVoteLost(Scenario{
		ID:    "S28b",
		Title: "A master is demoted and promoted again, and its process lives on",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C becomes the replica of an empty master, by mistake; 150: it is a master again. It was never restarted: its run ID is the same, and so are the connections; its data is gone",
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "a server with the same run ID has the same data",
		Breaks:     "mutual exclusion, also for a client that compares run IDs alone",
		Helps:      "the replication ID, which changes with each promotion: it names the run",
		Source:     "redis.io, \"Redis replication\", \"Replication ID explained\"; otherwise as S7",
		Verdicts: expect(overlap, group([]string{"redlock", "unwatched", "run-hidden", "setnx"}, unguarded)...).
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a quarantine began: restarted"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: append(unwatched(), runHidden()),
		Reached:  []string{"a server was demoted", "a server lost acknowledged writes"},
	}, simulation.Fault{Kind: simulation.Demote, At: at(50 * ms), For: 100 * ms})
}

// hardLifetime is how long package instance lets a connection live at most.
const hardLifetime = 5 * time.Second
