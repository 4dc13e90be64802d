package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// crash is S7's fault: down at 50, back at 150.
func crash(keep simulation.Keep) simulation.Fault {
	return simulation.Fault{Kind: simulation.Restart, At: at(50 * ms), For: 100 * ms, Keep: keep}
}

const crashSource = "Kleppmann, \"Breaking Redlock with bad timings\", after the first example; the Redis document, \"Performance, Crash Recovery and fsync\""

// crashWithoutFsync is S7.
func crashWithoutFsync() Scenario {
	return oneVoteLost(Scenario{
		ID:    "S7",
		Title: "A server crashes and comes back empty",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C crashes; 150: it is back, without any key",
			"200: c2 gets the lock on C, D and E",
			"5 000: c1 goes on under its lease",
		},
		Assumption: "a vote once given stands",
		Breaks:     "mutual exclusion",
		Helps:      "a restarted server doesn't vote for MaxTTL (\"delayed restarts\"), which this library sees to itself, with appendfsync always (S7c), too: that setting doesn't tell whether the disk is the same one",
		Source:     crashSource,
		Verdicts: expect(overlap, "redlock", "unwatched").
			and(breaks(simulation.TwoHolders).reaching("c2 acquired", "the guard refused a read"), "unwatched-fenced").
			and(breaks(simulation.TwoHolders, simulation.StaleWrite).reaching("c2 acquired"), "setnx").
			and(overlap, unguarded...).
			and(refusedSecond.reaching("a quarantine began: restarted"), group([]string{"quarantine"}, watching, fenced)...),
		Variants: unwatched(),
	}, crash(simulation.KeepNothing))
}

// crashWithinASecond is S7b.
func crashWithinASecond() Scenario {
	return oneVoteLost(Scenario{
		ID:    "S7b",
		Title: "A server with appendfsync everysec crashes within the second",
		Steps: []string{
			"0: c1 gets the lock on A, B and C, just after their disks were synced",
			"50: C crashes; 150: it is back with what was on disk at 0: no key",
			"200: c2 gets the lock on C, D and E",
		},
		Assumption: "a vote once given stands",
		Breaks:     "mutual exclusion: Redis's usual persistence loses up to a second",
		Helps:      "as S7",
		Source:     crashSource,
		Base:       simulation.Config{Persistence: simulation.KeepSecond},
		Verdicts: expect(overlap, group([]string{"redlock", "setnx"}, unguarded)...).
			and(refusedSecond.reaching("a quarantine began: restarted"), group([]string{"quarantine"}, watching, fenced)...),
	}, crash(simulation.KeepSecond))
}

// crashWithFsync is S7c.
func crashWithFsync() Scenario {
	return oneVoteLost(Scenario{
		ID:    "S7c",
		Title: "A server with appendfsync always crashes",
		Steps: []string{
			"0: c1 gets the lock on A, B and C",
			"50: C crashes; 150: it is back with all that it ever answered",
			"200: c2 asks, and gets D and E",
		},
		Assumption: "a vote once given stands, and here it does",
		Breaks:     "nothing",
		Helps:      "appendfsync always, at the price of a disk write for each vote, as long as the disk is the same one. This library keeps the server in quarantine all the same",
		Source:     crashSource,
		Base:       simulation.Config{Persistence: simulation.KeepAll},
		Verdicts:   expect(refusedSecond, group([]string{"setnx"}, unguarded, voting, fenced)...),
	}, crash(simulation.KeepAll))
}

// earlierLife is what S7d and S7e have in common: a packet that was sent before the
// crash counts after it. The SETs to some of the servers are a little late, so that
// it is certain which of them counts highest.
func earlierLife(s Scenario, late string) Scenario {
	s.Assumption = "a vote stands when it is counted"
	s.Source = crashSource + "; a quorum counts votes that were given at different moments"
	s.Schedule = append(cut(-50*ms, 0, "DE"),
		simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: "C", Way: simulation.Replies, At: at(0), For: 9 * ms, By: 80 * ms},
		simulation.Fault{Kind: simulation.Restart, Server: "C", At: at(10 * ms), For: 10 * ms})
	for _, server := range late {
		s.Schedule = append(s.Schedule, simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: string(server), Op: "acquire", Nth: 1, By: 4 * ms})
	}
	s.Work = parts(map[string]simulation.Workload{
		"c1": turn(0, 5*time.Second),
		"c2": turn(40*ms, 5*time.Second),
	})
	s.Base = simulation.Config{Quorum: quorum.Config{InstanceTimeout: 200 * ms}}
	s.Variants = unwatched()[:1]
	s.Reached = []string{"a server lost acknowledged writes"}
	return s
}

// voteFromAnEarlierLife is S7d.
func voteFromAnEarlierLife() Scenario {
	return earlierLife(Scenario{
		ID:    "S7d",
		Title: "A vote that was given before the crash arrives after the restart",
		Steps: []string{
			"0: c1 asks A, B and C; D and E can't be reached by it. C's OK takes 80",
			"10: C crashes; 20: it is back, empty",
			"40: c2 asks C, D and E",
			"86: c1 has its third vote, and nothing looks wrong to it",
		},
		Breaks: "mutual exclusion; with a quarantine nothing more than that c1 has one vote less than it counts, and nobody else gets one",
		Helps:  "the quarantine, in c2's eyes: c1 can't know",
		Verdicts: expect(breaks(simulation.Overvalued, simulation.TwoHolders).reaching("c1 acquired", "c2 acquired"), "redlock").
			and(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 acquired", "c2 acquired"), "unwatched").
			and(breaks(simulation.Overvalued).reaching("c1 write", "a quarantine began: restarted").without("c2 acquired"), group([]string{"quarantine"}, watching, fenced)...),
		NoCure: "c1's lease is short of a vote in any case; that there is no second holder is what the quarantine is for",
	}, "C")
}

// voteFoundMissing is S7e.
func voteFoundMissing() Scenario {
	return earlierLife(Scenario{
		ID:    "S7e",
		Title: "A vote from before the crash comes after the restart, and the counters tell",
		Steps: []string{
			"0: c1 asks as in S7d, and C, which is asked first, counts lowest",
			"10: C crashes; 20: it is back, empty",
			"40: c2 asks C, D and E",
			"81: c1 has its third vote; the token is A's or B's, and C has to be raised to it: there c1's key is found to have gone",
		},
		Breaks: "nothing: c1 loses the round",
		Helps:  "the raise, which demands that the key is still the lease's",
		Verdicts: expect(none.reaching("c1 refused", "c2 acquired", "a raise was needed").without("c1 acquired"), "unwatched").
			and(none.reaching("c1 refused", "a raise was needed", "a quarantine began: restarted").without("c1 acquired", "c2 acquired"), group([]string{"default"}, fenced)...),
	}, "AB")
}

// lifeHidden is the library on servers that hide their run id, with a resource that
// looks at the token.
func lifeHidden() designs.Design {
	return withSetting("life-hidden", "this library on servers that hide their run id, with a resource that looks at the token", "token-admit", func(c *simulation.Config) { c.HideRunID = true })
}

// olderCounters is what S7f and S8d have in common: the counter of c1's token is lost
// on all servers at once, with the key, and an older one is left.
func olderCounters(s Scenario, schedule simulation.Schedule) Scenario {
	s.Steps = append([]string{
		"-500: c1 gets the lock, all five count alike, and it gives it back",
		"100: c1 gets the lock again, on all five; it reads, and is paused just before its write",
	}, append(s.Steps,
		"17 000: the quarantine is over, and c2 gets the lock: under c1's own token, if the servers go on from what they have; it reads and writes",
		"18 500: c1's write, under its token")...)
	s.Assumption = "a server that two majorities share has the counter that it had"
	s.Breaks = "tokens are no longer unique, and c2's update is lost under the eyes of a guard. No quarantine helps: it waits for votes to be over, and a counter is never over"
	s.Helps = "a counter knows in which run of its server it was last granted from, and is lifted to the clock first in another one: clocks need to agree to within half of MaxTTL, and the run id must be told (without it the library tells its user, by Hooks.Unprotected)"
	// All five are asked at the same moment, so that their counters begin alike.
	s.Base.LatencyMin, s.Base.LatencyMax = ms, ms
	s.Schedule = append(schedule, simulation.Fault{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 18_400 * ms})
	s.Work = parts(map[string]simulation.Workload{
		"c1": func(c *simulation.Client) {
			until(c, -500*ms)
			if lease := take(c); lease != nil {
				release(c, lease)
			}
			turn(100*ms, 0)(c)
		},
		"c2": turn(17*time.Second, 5*time.Second),
	})
	s.Verdicts = expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write", "a quarantine began: restarted"), "default").
		and(none.reaching("the guard refused a write", "a quarantine began: restarted").without("c1 write"), fenced...).
		and(breaks(simulation.LostUpdate, simulation.TokenOrder, simulation.TwoHolders).reaching("c1 write", "a server hid its run id"), "life-hidden").
		and(breaks(simulation.LostUpdate, simulation.TokenOrder, simulation.TwoHolders).reaching("c1 write"), "unwatched-fenced")
	s.Variants = append(unwatched()[1:], lifeHidden())
	s.Reached = []string{"c1 acquired", "c2 write", "a server lost acknowledged writes"}
	return s
}

// countersASecondOld is S7f.
func countersASecondOld() Scenario {
	return olderCounters(Scenario{
		ID:    "S7f",
		Title: "All servers come back with the counters of a second ago",
		Steps: []string{
			"500: the power fails; 600: all five are back with what was on disk at 0 (appendfsync everysec)",
		},
		Source: crashSource + "; the Redis documentation, \"Redis persistence\", on appendfsync everysec",
		Base:   simulation.Config{Persistence: simulation.KeepSecond},
	}, simulation.Schedule{{Kind: simulation.Restart, Server: simulation.Any, At: at(500 * ms), For: 100 * ms, Keep: simulation.KeepSecond}})
}
