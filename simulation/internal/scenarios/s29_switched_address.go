package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

const addressSource = "the address of a Kubernetes service, a DNS name or a virtual IP is moved while both servers run; proxies and connection pools keep what is open"

// switchedAddress is S29.
func switchedAddress() Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S29",
		Title: "An address leads to another living server, and old connections live on",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C's address leads to another server, which has been up as long, and has none of its keys. Connections that are open go on to the old C",
			"100: c2's connection breaks, and it opens another one",
			"200: c2 gets the lock on the new C, on D and on E",
			"2 050: the address leads to the old C again",
			"5 000: c1 goes on under its lease, whose vote of C nobody has lost",
		},
		Assumption: "a name is one server",
		Breaks:     "mutual exclusion: no server has lost or forgotten anything",
		Helps:      "each command names the run of the server that it is meant for; whoever answers in another run doesn't vote for MaxTTL, and connections live for seconds only (package instance)",
		Source:     addressSource,
		Verdicts: expect(overlap, group([]string{"redlock", "unwatched", "run-hidden", "setnx"}, unguarded)...).
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a quarantine began: restarted", "a server was asked in another run than its own"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: append(unwatched(), runHidden()),
		Reached:  []string{"an address was switched"},
	}, simulation.Fault{})
	to := func(server string) simulation.Schedule {
		return simulation.Schedule{
			{Kind: simulation.Switch, Process: simulation.Any, Server: server, At: at(50 * ms), For: 2 * time.Second},
			{Kind: simulation.Reconnect, Process: "c2", Server: server, At: at(100 * ms)},
		}
	}
	s.Schedule, s.Alone = append(cut(-50*ms, 0, "DE"), to("C")...), to("A")
	return s
}

// addressOfASpare is S29c.
func addressOfASpare() Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S29c",
		Title: "An address leads to a spare server that has run for long, and a client starts",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C's address leads to a spare server, which has been up as long, and has none of its keys. Connections that are open go on to the old C",
			"80: c2 is deployed anew; 100: it starts, and has never seen the old C",
			"1 300: c2 gets the lock on the new C, on D and on E",
			"5 000: c1 goes on under its lease, whose vote of C nobody has lost",
		},
		Assumption: "a server that has been up for long has all votes that were given under its name",
		Breaks:     "mutual exclusion: nothing that the spare server says of itself is odd, and the client has nothing to compare it with",
		Helps:      "clients leave a mark on each server, for its name and its run; a server without a mark of some age doesn't vote for MaxTTL, however long it has been up",
		Source:     "a spare server is kept running, and the address is moved to it before a deployment",
		Verdicts: expect(overlap, group([]string{"redlock", "unwatched", "run-hidden", "setnx"}, unguarded)...).
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a quarantine began: restarted"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: append(unwatched(), runHidden()),
		Reached:  []string{"an address was switched", "a process was rebooted"},
	}, simulation.Fault{})
	to := func(server string) simulation.Schedule {
		return simulation.Schedule{
			{Kind: simulation.Switch, Process: simulation.Any, Server: server, At: at(50 * ms)},
			{Kind: simulation.Reboot, Process: "c2", At: at(80 * ms), For: 20 * ms},
		}
	}
	s.Schedule, s.Alone = append(cut(-50*ms, 0, "DE"), to("C")...), to("A")
	return s
}

// addressComesBack is S29b.
func addressComesBack() Scenario {
	s := Scenario{
		ID:    "S29b",
		Title: "An address comes back to a server that everybody knew and trusted",
		Steps: []string{
			"0: C's address leads to another living server; 5 000: no connection goes to the old C any more. Everybody sees the new one, and waits until it may vote",
			"16 000: c1 gets the lock on A, B and the new C; D and E can't be reached by it",
			"16 050: the address leads to the old C again; 16 100: c2's connection breaks, and it opens another one",
			"16 200: c2 gets the lock on the old C, whose run it knows from before, on D and on E",
			"20 000: c1 goes on under its lease",
		},
		Assumption: "a server that was fit to vote once still is, as long as it was not restarted",
		Breaks:     "mutual exclusion: the old C knows nothing of the votes that the new one gave in its place",
		Helps:      "only the run that was found last may vote: whichever is found instead waits for MaxTTL, known or not",
		Source:     addressSource,
		Verdicts: expect(overlap, group([]string{"redlock", "unwatched", "run-hidden", "setnx"}, unguarded)...).
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a quarantine began: restarted", "a server was asked in another run than its own"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: append(unwatched(), runHidden()),
		Reached:  []string{"an address was switched"},
	}
	to := func(server string) simulation.Schedule {
		return simulation.Schedule{
			{Kind: simulation.Switch, Process: simulation.Any, Server: server, At: at(0), For: 16_050 * ms, By: hardLifetime},
			{Kind: simulation.Reconnect, Process: "c2", Server: server, At: at(16_100 * ms)},
		}
	}
	s.Schedule, s.Alone = append(cut(15_950*ms, 0, "DE"), to("C")...), to("A")
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, 5_500*ms)
			look(c)
			until(c, 16*time.Second)
			if lease := take(c); lease != nil {
				update(c, lease)
				until(c, 20*time.Second)
				if c.Valid(lease) {
					update(c, lease)
				}
				release(c, lease)
			}
		},
		"c2": func(c *simulation.Client) {
			until(c, 5_500*ms)
			look(c)
			turn(16_200*ms, time.Second)(c)
		},
	})
	return s
}
