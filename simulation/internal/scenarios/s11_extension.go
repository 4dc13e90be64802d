package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// patientConfig waits for an answer long enough for it to matter when the count
// begins.
var patientConfig = simulation.Config{Quorum: quorum.Config{InstanceTimeout: 4 * time.Second}}

// extending is the part of who extends at a moment, and at a later one looks at its
// lease and updates, as if the extension had been all that is needed.
func extending(when, work time.Duration) simulation.Workload {
	return func(c *simulation.Client) {
		until(c, 0)
		lease := take(c)
		if lease == nil {
			return
		}
		update(c, lease)
		until(c, when)
		if c.Extend(lease) != nil {
			c.Note("not extended")
		}
		until(c, work)
		if c.Valid(lease) {
			update(c, lease)
		}
		release(c, lease)
	}
}

// delayed makes c1's first commands of a kind to servers late.
func delayed(op string, by time.Duration, servers string) simulation.Schedule {
	var s simulation.Schedule
	for _, server := range servers {
		s = append(s, simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: string(server), Op: op, Nth: 1, By: by})
	}
	return s
}

// extensionRevives is S11a.
func extensionRevives() Scenario {
	return Scenario{
		ID:    "S11a",
		Title: "An extension puts an expired lease back",
		Steps: []string{
			"0: c1 gets the lock, and reads",
			"10 005: the keys have expired; 10 010: c2 gets the lock, reads, writes, and releases it at 10 018",
			"10 030: c1 extends; where the extension sets keys that have gone, it has \"its\" lock again",
			"10 060: c1 writes what follows from its old reading",
		},
		Assumption: "who can extend has held the lock all the time",
		Breaks:     "c2's update is lost, and c1 was told that all is well",
		Helps:      "an extension counts only where the key is still the lease's, and none is sent past the deadline",
		Source:     "the Redis document, \"Making the algorithm more reliable: Extending the lock\"; samcook/RedLock.net #48 and leandromoreira/redlock-rb #36; redsync's WithSetNXOnExtend (measured)",
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				lease := take(c)
				if lease == nil {
					return
				}
				value, version, _ := c.Read(lease) // a guard may refuse it; then the write is refused, too
				until(c, 10_030*ms)
				if c.Extend(lease) != nil {
					c.Note("not extended")
					return
				}
				until(c, 10_060*ms)
				if c.Valid(lease) {
					_ = c.Write(lease, value+1, version)
				}
				release(c, lease)
			},
			"c2": turn(10_010*ms, 0),
		}),
		Verdicts: expect(breaks(simulation.LostUpdate, simulation.StaleWrite, simulation.TwoHolders).reaching("c1 write"), "extend-sets", "set-on-extend").
			and(none.reaching("c1 noted").without("c1 write"), "textbook").
			and(none.reaching("c1 noted").without("c1 write"), group([]string{"redlock", "quarantine", "monitor", "default"}, fenced, unguarded)...),
		Reached: []string{"c2 write", "c2 released"},
	}
}

// extensionCountedLate is S11b.
func extensionCountedLate() Scenario {
	return Scenario{
		ID:    "S11b",
		Title: "The validity of an extension is counted from its reply",
		Steps: []string{
			"0: c1 gets the lock",
			"5 000: c1 extends; the keys live to 15 000; the replies take 3 000",
			"8 000: counted from the replies the lease is valid to 17 898, counted from the send to 14 898",
			"15 100: c2 gets the lock",
			"16 000: c1 looks at its lease",
		},
		Assumption: "messages take no time",
		Breaks:     "mutual exclusion, for as long as the replies took",
		Helps:      "the validity counts from just before the extension was sent",
		Source:     "mike-marcacci/node-redlock #167 and #273 discuss where the count begins; samcook/RedLock.net #49",
		Base:       patientConfig,
		Schedule: simulation.Schedule{
			{Kind: simulation.Delay, Process: "c1", Server: simulation.Any, Way: simulation.Replies, At: at(4_990 * ms), For: 100 * ms, By: 3 * time.Second},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": extending(5*time.Second, 16*time.Second),
			"c2": turn(15_100*ms, 2*time.Second),
		}),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders), "late-start").
			and(none, "textbook").
			and(none.reaching("a lease was extended"), group([]string{"redlock", "quarantine", "monitor", "default"}, fenced)...),
		Reached: []string{"c2 write"},
	}
}

// extensionInPart is S11c.
func extensionInPart() Scenario {
	return Scenario{
		ID:    "S11c",
		Title: "An extension on a minority is taken for one",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"5 000: c1 extends on A and B; C can't be reached any more either",
			"10 003: C's key expires",
			"10 100: c2 gets the lock on C, D and E",
			"12 000: c1 looks at its lease",
		},
		Assumption: "what the extension reached is enough",
		Breaks:     "mutual exclusion",
		Helps:      "an extension needs the quorum that a lock needs; if it isn't won the old deadline stands",
		Source:     "the Redis document, \"Making the algorithm more reliable: Extending the lock\": extended only with a majority, within the validity time",
		Schedule:   append(cut(-50*ms, 0, "DE"), cut(4_900*ms, 0, "C")...),
		Work: parts(map[string]simulation.Workload{
			"c1": extending(5*time.Second, 12*time.Second),
			"c2": turn(10_100*ms, 5*time.Second),
		}),
		Verdicts: expect(breaks(simulation.Overvalued, simulation.StaleWrite, simulation.TwoHolders), "partial-extend").
			and(none.reaching("c1 noted"), group([]string{"redlock", "quarantine", "monitor", "default", "textbook"}, fenced)...),
		Reached: []string{"c1 acquired", "c2 write"},
	}
}

// extensionAfterRelease is S11d.
func extensionAfterRelease() Scenario {
	return Scenario{
		ID:    "S11d",
		Title: "A renewal arrives after the release",
		Steps: []string{
			"0: c1 gets the lock on all five; 4 000: D and E lose their keys",
			"5 000: c1 extends, on A, B and C, and puts the lease back on D and E; those commands take 300, and time out at 5 050",
			"5 200: c1 releases the lock",
			"5 300: the late commands arrive, and set keys that nobody owns until 15 300",
			"6 000: c2, which doesn't reach A, asks for the lock, and gets B and C",
		},
		Assumption: "what was given up doesn't happen any more",
		Breaks:     "liveness: keys that nobody owns, for a TTL",
		Helps:      "what puts a lease back is sent in order with the release, never after it, and is deleted again when it turns up late",
		Source:     "samcook/RedLock.net, whose script sets a key that has gone (see #49), renews by a timer of its own",
		Base:       simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms}},
		Schedule: append(delayed("restore", 300*ms, "DE"),
			simulation.Fault{Kind: simulation.Evict, Server: "D", Key: key, At: at(4 * time.Second)},
			simulation.Fault{Kind: simulation.Evict, Server: "E", Key: key, At: at(4 * time.Second)},
			simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: "D", Op: "acquire", Nth: 2, By: 300 * ms},
			simulation.Fault{Kind: simulation.Delay, Process: "c1", Server: "E", Op: "acquire", Nth: 2, By: 300 * ms},
			simulation.Fault{Kind: simulation.Cut, Process: "c2", Server: "A", At: at(-50 * ms)}),
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				extending(5*time.Second, 5_200*ms)(c)
				until(c, 7*time.Second)
			},
			"c2": keepTrying(6*time.Second, 12, 250*ms),
		}),
		Free: []Free{{Process: "c2", By: 6_100 * ms}},
		Verdicts: expect(breaks(simulation.NoProgress), "extend-sets").
			and(none.reaching("c2 write"), group([]string{"redlock", "quarantine", "monitor", "textbook"})...).
			and(none.reaching("c2 write", "a call timed out", "restore granted"), group([]string{"default"}, fenced)...),
		Reached: []string{"c1 released"},
	}
}

// extensionFrees is S11e.
func extensionFrees() Scenario {
	return Scenario{
		ID:    "S11e",
		Title: "A failed extension deletes the keys of a lease that is valid",
		Steps: []string{
			"0: c1 gets the lock, valid to 9 898",
			"3 000: c1 extends; the commands to C, D and E get lost, so that it isn't won",
			"3 060: a client that now deletes its keys frees the lock under its holder, who goes by the old deadline",
			"4 000: c2 asks for the lock",
			"5 000: c1 looks at its lease, which is valid, and updates",
		},
		Assumption: "a lease that couldn't be extended is over",
		Breaks:     "mutual exclusion",
		Helps:      "a failed extension changes nothing: the old deadline stands",
		Source:     "rslock (read): a failed extension unlocks on all instances, while the guard that the holder has goes on",
		Base:       simulation.Config{Quorum: quorum.Config{InstanceTimeout: 50 * ms}},
		Schedule:   delayed("extend", time.Minute, "CDE"),
		Work: parts(map[string]simulation.Workload{
			"c1": extending(3*time.Second, 5*time.Second),
			"c2": turn(4*time.Second, 3*time.Second),
		}),
		Verdicts: expect(breaks(simulation.StaleWrite, simulation.TwoHolders).reaching("c2 acquired"), "extend-releases").
			and(none.reaching("c2 refused").without("c2 acquired"), group([]string{"redlock", "quarantine", "monitor", "default", "textbook"}, fenced)...),
		Reached: []string{"c1 noted", "c1 write"},
	}
}

// extensionForEver is S11f.
func extensionForEver() Scenario {
	return Scenario{
		ID:    "S11f",
		Title: "Work that hangs is kept alive",
		Steps: []string{
			"0: c1 gets the lock, and hangs, for five minutes; what renews the lease doesn't hang",
			"20 000 to 60 000: c2 asks again and again",
		},
		Assumption: "who renews is at work",
		Breaks:     "liveness: nobody else gets the lock",
		Helps:      "a bound on the whole life of a lease (Terms.MaxLife)",
		Source:     "samcook/RedLock.net #39 and redisson's watchdog: users ask why a lock outlives its expiry",
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					c.Sleep(5 * time.Minute)
				}
			},
			"c2": keepTrying(20*time.Second, 80, 500*ms),
		}),
		Free: []Free{{Process: "c2", By: 60 * time.Second}},
		Verdicts: expect(breaks(simulation.NoProgress).reaching("a lease was extended"), "topup", "kept-alive").
			and(none.reaching("a lease was extended", "c2 write"), "kept-alive-30s").
			and(none.reaching("c2 write"), group([]string{"redlock", "default"}, fenced)...),
		Reached: []string{"c1 acquired"},
		Variants: append(keptAlive(), withSetting("kept-alive-30s", "this library with KeepAlive, for 30 s at most", "default", func(c *simulation.Config) {
			c.Quorum.KeepAlive, c.Quorum.MaxLife = true, 30*time.Second
		})),
	}
}
