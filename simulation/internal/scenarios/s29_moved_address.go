package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

// anotherRun is a scenario in which c2 doesn't meet c1's vote on a server, and only the server's run
// shows it.
func anotherRun(s Scenario, quarantined Verdict) Scenario {
	s.Verdicts = expect(overlap, "redlock unwatched run-hidden setnx", unguarded).
		and(overlapRefused, "unwatched-fenced").
		and(quarantined, "quarantine", watching, fenced)
	s.Variants = append(unwatched(), runHidden("run-hidden", "default", "this library on servers that hide in which run they are"))
	return s
}

const addressSource = "the address of a Kubernetes service, a DNS name or a virtual IP is moved while both servers run; proxies and connection pools keep open connections"

func switchedAddresses() []Scenario {
	standby := anotherRun(oneVoteLost(Scenario{
		ID:       "S29c",
		Title:    "An address leads to a spare server that has run for long, and a client starts",
		Unplayed: notAddress,
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"50: C's address leads to a spare server, which has been up as long, and has none of its keys. c1's connection still goes to the old C",
			"80: c2 is deployed anew; 100: it starts, and has never seen the old C",
			"1 300: c2 acquires the lock on the new C, on D and on E",
			"5 000: c1 continues under its lease, whose vote of C nobody has lost",
		},
		Assumption: "a server that has been up for long has all votes that were given under its name",
		Breaks:     "mutual exclusion: nothing that the spare server reports is odd, and the client has nothing to compare it with",
		Helps:      "clients leave a mark on each server, for its name and its run; a server without a mark of some age doesn't vote for MaxTTL, however long it has been up",
		Source:     "a spare server is kept running, and the address is moved to it before a deployment",
		Reached:    []string{"an address was switched", "a process was rebooted"},
	}, fault.Fault{Kind: fault.Switch, Process: "c2", At: at(50 * ms)}), quarantined)
	reboot := fault.Fault{Kind: fault.Reboot, Process: "c2", At: at(80 * ms), For: 20 * ms}
	standby.Schedule, standby.Alone = append(standby.Schedule, reboot), append(standby.Alone, reboot)
	return []Scenario{anotherRun(oneVoteLost(Scenario{
		ID:       "S29",
		Title:    "An address leads to another running server, and an old connection stays open",
		Unplayed: notAddress,
		Steps: []string{
			"0: c1 acquires the lock on A, B and C; it can't reach D and E",
			"50: C's address leads to another server, which has been up as long, and has none of its keys. c2's connection breaks, and it opens another one. c1's still goes to the old C",
			"200: c2 acquires the lock on the new C, on D and on E",
			"2 050: the address leads to the old C again",
			"5 000: c1 continues under its lease, whose vote of C nobody has lost",
		},
		Assumption: "a name is one server",
		Breaks:     "mutual exclusion: no server has lost or forgotten anything",
		Helps:      "each command names the run of the server that it is meant for; a server in another run doesn't vote for MaxTTL, and connections are closed after a few seconds (package instance)",
		Source:     addressSource,
		Reached:    []string{"an address was switched"},
	}, fault.Fault{Kind: fault.Switch, Process: "c2", At: at(50 * ms), For: 2 * time.Second}),
		quarantined.reaching("a server was asked in another run than its own")), standby}
}
