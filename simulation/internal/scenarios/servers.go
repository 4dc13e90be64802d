package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// crash is S7's fault: down at 100, back at 150.
func crash(keep fault.Keep) fault.Fault {
	return fault.Fault{Kind: fault.Restart, At: at(100 * ms), For: 50 * ms, Keep: keep}
}

const crashSource = "Kleppmann, \"Breaking Redlock with bad timings\", after the first example; the Redis document, \"Performance, Crash Recovery and fsync\""

// olderCounters is the scenario in which all servers lose c1's key, and go back to an older
// counter than that of c1's token.
func olderCounters() Scenario {
	broken := breaks(record.LostUpdate, record.TokenOrder, record.TwoHolders).reaching("c1 write", "a server hid its run id")
	return Scenario{
		ID:    "S7f",
		Title: "All servers come back with the counters of a second ago",
		Steps: []string{
			"-500: c1 acquires the lock, all five counters are equal, and it releases it",
			"100: c1 acquires the lock again, on all five; it reads, and is paused just before its write",
			"500: the power fails; 600: all five are back with what was on disk at 0 (appendfsync everysec)",
			"17 000: the quarantine is over, and c2 acquires the lock: under c1's own token, if the servers continue from what they have; it reads and writes",
			"18 500: c1's write, under its token",
		},
		Helps:  "no quarantine, because counters never expire. But each mark has an epoch, and a counter that isn't above it by more than MaxTTL may be an older copy, so it is lifted to the clock: clocks need to agree to within half of MaxTTL, and the server must tell its run ID (otherwise the library tells its user, by Hooks.Unprotected)",
		Source: crashSource + "; the Redis documentation, \"Redis persistence\", on appendfsync everysec",
		// All five are asked at the same moment, so that their counters begin alike.
		Base: simulation.Config{LatencyMin: ms, LatencyMax: ms},
		Schedule: simulation.Schedule{
			{Kind: fault.Restart, Server: fault.Any, At: at(500 * ms), For: 100 * ms, Keep: fault.KeepSecond},
			pausedWrite(18_400 * ms),
		},
		Scripts: clients(
			append(Script{attempt(until(-500*ms), acquire, release)}, turn(100*ms, 0)...),
			turn(17*time.Second, 5*time.Second),
		),
		Verdicts: expect(breaks(record.LostUpdate, record.StaleWrite, record.TwoHolders).reaching("c1 write", "a quarantine began: restarted"), "default").
			and(none.reaching("the guard refused a write", "a quarantine began: restarted").without("c1 write"), fenced).
			and(broken, "run-hidden"),
		Variants: []designs.Design{withSetting("run-hidden", "this library on servers that hide their run ID, with a resource that checks the token", "token-admit",
			func(c *simulation.Config) { c.HideRunID = true })},
		Reached: []string{"c1 acquired", "c2 write", "a server lost acknowledged writes"},
	}
}

const evictionSource = "the Redis documentation, \"Key eviction\": allkeys policies evict any key, volatile ones such as a lock's, which have a time to live; and its page of FLUSHALL"

func serverFaults() []Scenario {
	lost := func(counter string) verdicts {
		return expect(overlap.reaching(counter), "setnx", unguarded, voting).
			and(breaks(record.TwoHolders).reaching(counter, "c2 acquired", "the guard refused a read"), "token-admit idempotent").
			and(breaks(record.TwoHolders).reaching(counter, "c2 acquired", "the guard refused a write"), "token-write")
	}
	evict := fault.Fault{Kind: fault.Evict, Key: key, At: at(4 * time.Second)}
	hang := fault.Fault{Kind: fault.Hang, At: at(-10 * ms), For: 15 * time.Second}
	return []Scenario{oneVoteLost(Scenario{
		ID:    "S7",
		Title: "A server crashes and comes back empty",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"100: C crashes; 150: it is back, without any key",
			"200: c2 acquires the lock on C, D and E",
			"5 000: c1 continues under its lease",
		},
		Helps:  "a restarted server doesn't vote for MaxTTL (\"delayed restarts\"). The clients of this library enforce that, with appendfsync always (S7c), too: the setting doesn't tell whether the disk is the same one",
		Source: crashSource,
		Verdicts: expect(overlap, "redlock", unguarded).
			and(breaks(record.TwoHolders, record.StaleWrite).reaching("c2 acquired"), "setnx").
			and(quarantined, library),
	}, crash(fault.KeepNothing)), oneVoteLost(Scenario{
		ID:    "S7c",
		Title: "A server with appendfsync always crashes",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C",
			"100: C crashes; 150: it is back with everything that it ever confirmed",
			"200: c2 asks, and gets D and E",
		},
		Helps:    "appendfsync always, at the price of a disk write for each vote, as long as the disk is the same one. This library keeps the server in quarantine all the same",
		Source:   crashSource,
		Verdicts: expect(refusedSecond, "setnx", unguarded, voting, fenced),
	}, crash(fault.KeepAll)), olderCounters(), {
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
		Verdicts: lost("a server was flushed").and(refusedSecond.reaching("a server was flushed"), library),
	}, fault.Fault{Kind: fault.Flush, At: at(100 * ms)}), {
		ID:    "S27",
		Title: "One server of five hangs",
		Steps: []string{
			"0: E hangs, for longer than a TTL; c1 asks for the lock",
			"50: four servers are healthy, and c1 has it - or it waits for E",
			"400: c1 releases it; 600: c2 asks for it",
		},
		Helps:    "a timeout for each server, and a decision at the quorum: then E costs nothing",
		Source:   "the Redis document, \"The Redlock Algorithm\", step 2; mike-marcacci/node-redlock #262; redisson/redisson #1636; redsync with go-redis's defaults: 10 s (measured)",
		Schedule: each("E", hang),
		Alone:    each("A", hang),
		Scripts:  clients(Script{until(0), acquire, update, until(400 * ms), release}, turn(600*ms, 500*ms)),
		Free:     []Free{{Process: "c1", By: 150 * ms}, {Process: "c2", By: 750 * ms}},
		Verdicts: expect(breaks(record.NoProgress), "no-timeout setnx", unguarded).
			and(none.reaching("c1 write", "c2 write"), voting, fenced),
	}, oneVoteLost(Scenario{
		ID:    "S29",
		Title: "An address leads to another running server, and an old connection stays open",
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"100: C's address leads to another server, which has been up as long, and has none of its keys. c2's connection breaks, and it opens another one. c1's still goes to the old C",
			"200: c2 acquires the lock on the new C, on D and on E",
			"2 100: the address leads to the old C again",
			"5 000: c1 continues under its lease, whose vote of C nobody has lost",
		},
		Helps:   "each command names the run of the server that it is meant for; a server in another run doesn't vote for MaxTTL, and connections are closed after a few seconds (package instance)",
		Source:  "the address of a Kubernetes service, a DNS name or a virtual IP is moved while both servers run; proxies and connection pools keep open connections",
		Reached: []string{"an address was switched"},
		Verdicts: expect(overlap, "redlock setnx", unguarded).
			and(quarantined.reaching("a server was asked in another run than its own"), library),
	}, fault.Fault{Kind: fault.Switch, Process: "c2", At: at(100 * ms), For: 2 * time.Second})}
}
