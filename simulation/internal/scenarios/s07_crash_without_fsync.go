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

func crashWithoutFsync() []Scenario {
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
	}, crash(fault.KeepAll)), olderCounters()}
}

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
