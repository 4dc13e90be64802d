package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// cut loses for a while what c1 sends to servers, and what they answer.
func cut(from, length time.Duration, servers string) simulation.Schedule {
	var s simulation.Schedule
	for _, server := range servers {
		s = append(s, simulation.Fault{Kind: simulation.Cut, Process: "c1", Server: string(server), At: at(from), For: length})
	}
	return s
}

// oneVoteLost is what S4, S7, S8 and S26 have in common: c1 has the lock on A, B and
// C, something becomes of C's key, and c2 gets C, D and E. Alone, it is A's.
func oneVoteLost(s Scenario, fault simulation.Fault) Scenario {
	lost, alone := fault, fault
	lost.Server, alone.Server = "C", "A"
	s.Schedule = append(cut(-50*ms, 0, "DE"), lost)
	s.Alone = simulation.Schedule{alone}
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, 0)
			if lease := take(c); lease != nil {
				update(c, lease)
				until(c, 5*time.Second)
				if c.Valid(lease) {
					update(c, lease)
				}
				release(c, lease)
			}
		},
		"c2": turn(200*ms, time.Second),
	})
	return s
}

var (
	// overlap is what comes of oneVoteLost if nothing is done about it: c1 goes on
	// under its lease after c2 had its own.
	overlap = breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c2 acquired")
	// refusedSecond is what must come of it.
	refusedSecond = none.reaching("c2 refused", "c1 write").without("c2 acquired")
)

// clockForward is S4.
func clockForward() Scenario {
	return oneVoteLost(Scenario{
		ID:    "S4",
		Title: "A server's clock jumps forward",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"100: C's clock jumps forward by 15 000, and C's key has expired",
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease, which it believes in until 9 898",
		},
		Assumption: "servers count a TTL at about the client's rate",
		Breaks:     "mutual exclusion, for 9.7 s",
		Helps:      "a clock monitor: a server whose clock jumped doesn't vote for MaxTTL. A lease on all five survives two jumps (S4c). Fencing saves the resource",
		Source:     "Kleppmann, \"Breaking Redlock with bad timings\", first example; Antirez agrees, and asks for clocks that are slewed; redis/redis #416 and valkey-io/valkey #2651: keys expire by the wall clock",
		Verdicts: expect(overlap, group(unguarded, []string{"redlock", "quarantine", "unwatched"})...).
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(refusedSecond.reaching("a clock was seen to jump", "a quarantine began: clock jumped"), group([]string{"monitor"}, fenced, []string{"default"})...).
			and(refusedSecond, "setnx", "topup"),
		Variants: unwatched(),
	}, simulation.Fault{Kind: simulation.Step, At: at(100 * ms), By: 15 * time.Second})
}

// clockBack is S4b.
func clockBack() Scenario {
	return keysThatLast(Scenario{
		ID:    "S4b",
		Title: "Three servers' clocks are set back under a lock whose holder has died",
		Steps: []string{
			"0: c1 gets the lock, and dies before it writes",
			"500: the clocks of C, D and E are set back by 20 000, so that their keys live to 30 000",
			"10 100 to 15 000: c2 asks again and again, and gets A and B at most",
		},
		Breaks: "liveness: the lock is blocked for three TTLs",
	}, simulation.Fault{Kind: simulation.Step, By: -20 * time.Second})
}

// clockSlow is S4f.
func clockSlow() Scenario {
	return keysThatLast(Scenario{
		ID:    "S4f",
		Title: "Three servers' clocks go half as fast under a lock whose holder has died",
		Steps: []string{
			"0: c1 gets the lock, and dies before it writes",
			"500: the clocks of C, D and E go half as fast, so that their keys live to 19 500; where they stand still they live for ever",
			"10 100 to 15 000: c2 asks again and again, and gets A and B at most",
		},
		Breaks: "liveness: the lock is blocked for two TTLs",
	}, simulation.Fault{Kind: simulation.Rate, PPM: -500_000})
}

// keysThatLast is what S4b and S4f have in common.
func keysThatLast(s Scenario, fault simulation.Fault) Scenario {
	s.Assumption = "servers count a TTL at about the client's rate"
	s.Helps = "an alarm at a PTTL above MaxTTL: nobody else may delete the keys"
	s.Source = "redis/redis #416: expiries are moments of the wall clock"
	dies := simulation.Fault{Kind: simulation.Crash, Process: "c1", Op: "write", Nth: 1}
	fault.At = at(500 * ms)
	s.Schedule, s.Alone = simulation.Schedule{dies}, simulation.Schedule{dies}
	for _, server := range []string{"C", "D", "E"} {
		fault.Server = server
		s.Schedule = append(s.Schedule, fault)
	}
	fault.Server = "A"
	s.Alone = append(s.Alone, fault)
	s.Work = parts(map[string]simulation.Workload{
		"c1": turn(0, 0),
		"c2": keepTrying(10_100*ms, 20, 250*ms),
	})
	s.Free = []Free{{Process: "c2", By: 15 * time.Second}}
	s.Verdicts = expect(breaks(simulation.NoProgress), group([]string{"setnx"}, unguarded, voting, fenced)...)
	s.Reached = []string{"a process crashed", "c1 acquired", "c2 refused"}
	s.NoCure = "the keys are somebody's, as far as anybody can tell, and to delete them would break mutual exclusion where their holder lives"
	return s
}

// clocksForward is S4c: the formula g-Q+1 with clocks.
func clocksForward() Scenario { return jumps("S4c", 3, "three", overlap, refusedSecond) }

// twoClocksForward is S4d, one jump less than S4c.
func twoClocksForward() Scenario { return jumps("S4d", 2, "two", refusedSecond, refusedSecond) }

func jumps(id string, n int, word string, unwatched, watched Verdict) Scenario {
	s := oneVoteLost(Scenario{
		ID:    id,
		Title: "The clocks of " + word + " servers jump forward under a lock that is on all five",
		Steps: []string{
			"0: c1 gets the lock on all five",
			"100: " + word + " clocks jump forward by 15 000",
			"200: c2 asks all five",
			"5 000: c1 goes on",
		},
		Assumption: "servers count a TTL at about the client's rate",
		Breaks:     "mutual exclusion, if 5-3+1 = 3 clocks jump and nobody watches them",
		Helps:      "more votes than a quorum; the clock monitor",
		Source:     "Kleppmann, \"Breaking Redlock with bad timings\", first example, where D and E can't be reached: that is what makes one jump enough",
		Verdicts: expect(unwatched, "redlock", "quarantine").
			and(watched, group(watching, fenced)...),
	}, simulation.Fault{})
	s.Schedule, s.Alone = nil, nil
	for _, server := range "CDE"[:n] {
		s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Step, Server: string(server), At: at(100 * ms), By: 15 * time.Second})
	}
	return s
}

// clocksApart is S4e: no clock jumps, they only don't agree.
func clocksApart() Scenario {
	s := oneVoteLost(Scenario{
		ID:    "S4e",
		Title: "The servers' clocks are ahead of the clients', as they always were",
		Steps: []string{
			"before: all servers' clocks are 15 000 ahead",
			"0: c1 gets the lock; a key that expires at a time on c1's clock has expired when it is set",
			"200: c2 asks",
			"5 000: c1 goes on",
		},
		Assumption: "client and server agree on what time it is",
		Breaks:     "mutual exclusion, for who sends the moment of expiry (PXAT) rather than a time to live",
		Helps:      "PX: how long a second is all agree on, what time it is not",
		Source:     "rueidislock sets keys with PXAT (measured: a server 10 s ahead, and two lockers at once)",
		Verdicts: expect(overlap, "expire-at").
			and(refusedSecond.reaching("a clock was stepped"), group([]string{"setnx"}, unguarded, voting, fenced)...),
	}, simulation.Fault{})
	s.Schedule, s.Alone = simulation.Schedule{{Kind: simulation.Step, Server: simulation.Any, By: 15 * time.Second}}, nil
	return s
}

// twoMinutesAhead is S4g.
func twoMinutesAhead() Scenario {
	s := clocksApart()
	s.ID, s.Title = "S4g", "One server's clock is two minutes ahead, as it always was"
	s.Steps = []string{
		"before: C's clock is two minutes ahead of all others",
		"0: c1 gets the lock on A, B and C; D and E can't be reached by it. A key that expires at a time on c1's clock has expired when C sets it",
		"100: with tokens c1 gives up: C counts from its clock, further ahead than A and B can be raised, and without D and E there is no quorum but with C",
		"200: c2 asks",
		"5 000: c1 goes on",
	}
	s.Schedule = append(cut(-50*ms, 0, "DE"), ahead("C"))
	s.Alone = simulation.Schedule{ahead("A")}
	s.Breaks = "mutual exclusion, if a client sends the moment of expiry (PXAT) rather than a time to live. Where tokens are minted, a server that is ahead of the others by more than half of MaxTTL is as good as down: that costs availability, not safety"
	vs := verdicts(s.Verdicts)
	vs.and(none.reaching("no lease: "+quorum.ErrTokenRace.Error(), "c2 write").without("c1 acquired"), group([]string{"default"}, fenced)...)
	return s
}

// ahead lets a server's clock be two minutes ahead from the beginning.
func ahead(server string) simulation.Fault {
	return simulation.Fault{Kind: simulation.Step, Server: server, By: 2 * time.Minute}
}

// twoMinutesSetRight is S4h.
func twoMinutesSetRight() Scenario {
	right := func(server string) simulation.Fault {
		return simulation.Fault{Kind: simulation.Step, Server: server, At: at(500 * ms), By: -2 * time.Minute}
	}
	s := keysThatLast(Scenario{
		ID:    "S4h",
		Title: "One server's clock was two minutes ahead, and is set right",
		Steps: []string{
			"before: C's clock is two minutes ahead of all others",
			"0: c1 gets the lock, and dies before it writes",
			"500: C's clock is set right, so that its key lives for two minutes more",
			"10 100 to 15 000: c2 asks again and again",
		},
		Breaks: "liveness, if there is that server alone: the lock is blocked for two minutes",
	}, simulation.Fault{})
	s.Helps, s.NoCure = "other servers, whose clocks were right: a majority of them has forgotten the key", ""
	dies := s.Schedule[0]
	s.Schedule = simulation.Schedule{dies, ahead("C"), right("C")}
	s.Alone = simulation.Schedule{dies, ahead("A"), right("A")}
	s.Verdicts = expect(breaks(simulation.NoProgress), group([]string{"setnx"}, unguarded)...).
		and(none.reaching("c2 write"), group(voting, fenced)...)
	s.Reached = []string{"a process crashed", "c1 acquired", "a clock was stepped"}
	return s
}
