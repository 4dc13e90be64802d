package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation/fault"
)

func switchedAddresses() []Scenario {
	return []Scenario{oneVoteLost(Scenario{
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
