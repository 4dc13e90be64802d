package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func oneServerFaults() []Scenario {
	// c1 releases after so long; c2 and c3 ask after the end of its lease.
	threeClients := func(hold time.Duration) []Script {
		return clients(turn(0, hold), twoUpdates(10_100*ms, 11*time.Second), turn(10_600*ms, 200*ms))
	}
	broken := breaks(record.StaleWrite, record.TwoHolders).reaching("c3 acquired")
	// A run ends after a minute, even if a client still waits.
	fiveSeconds := simulation.Config{
		Horizon: time.Minute,
		Quorum:  quorum.Config{MaxWait: 5 * time.Second},
	}
	extends := Script{until(0), acquire}
	for n := range time.Duration(10) {
		extends = append(extends, until((n+1)*5*time.Second), extendOrEnd)
	}
	return []Scenario{{
		ID:    "S16",
		Title: "A crash between SETNX and EXPIRE",
		Steps: []string{
			"0: c1 sends its first command, and crashes before its second",
			"60 000: c2 asks for the lock",
			"later: so does everybody else",
		},
		Helps:    "SET NX PX, one command",
		Source:   "redis/redis-py #554, lukas-krecan/ShedLock #65, laravel/horizon #1738; the command page of SET",
		Base:     simulation.Config{Witness: true},
		Schedule: simulation.Schedule{{Kind: fault.Crash, Process: "c1", At: at(0), Nth: 2}},
		Scripts:  clients(turn(0, 0), turn(60*time.Second, 0)),
		Verdicts: expect(none.reaching("c2 write"), unguarded, voting, fenced).
			and(breaks(record.NeverFree).reaching("c2 refused"), "setnx setnx-expire"),
		Reached: []string{"a process crashed"},
	}, {
		ID:    "S17",
		Title: "A late holder deletes another client's lock",
		Steps: []string{
			"0: c1 acquires the lock, and works for longer than it lasts",
			"10 100: c2 acquires the lock",
			"10 500: c1 is done, and releases: a plain DEL deletes c2's key",
			"10 600: c3 asks for the lock",
			"11 000: c2 continues under its lease",
		},
		Helps:   "compare-and-delete, with a value that only this lease has",
		Source:  "the Redis document, \"Correct Implementation with a Single Instance\"; lukas-krecan/ShedLock #2583, abelaska/jedis-lock #2",
		Base:    simulation.Config{Processes: 3},
		Scripts: threeClients(10_490 * ms),
		Verdicts: expect(none.reaching("c3 refused").without("c3 acquired"), unguarded, "redlock", complete).
			and(broken, "setnx-expire setpx-del same-value"),
		Reached: []string{"c1 released", "c2 acquired"},
	}, {
		ID:    "S17b",
		Title: "A pause between the GET and the DEL of a release",
		Steps: []string{
			"0: c1 acquires the lock",
			"9 500: c1 releases: GET says that the key is still its own, and c1 is paused before it sends DEL",
			"10 100: the key has expired; c2 acquires the lock",
			"10 500: c1 continues: DEL deletes c2's key",
			"10 600: c3 asks for the lock",
			"11 000: c2 continues under its lease",
		},
		Helps:    "the comparison and the delete in one step: a script, DELEX, CAD",
		Source:   "the Redis document, \"Correct Implementation with a Single Instance\"; redis/redis-py pull request 1031, eclipse-leshan/leshan pull request 837",
		Base:     simulation.Config{Processes: 3},
		Schedule: simulation.Schedule{{Kind: fault.Pause, Process: "c1", At: at(9_490 * ms), Nth: 2, For: time.Second}},
		Scripts:  threeClients(9_490 * ms),
		Verdicts: expect(broken.reaching("a process was paused"), "get-then-del").
			and(none.reaching("c3 refused").without("c3 acquired"), "setpx-cad tair-cas redlock default token-admit"),
		Reached: []string{"c1 released", "c2 acquired"},
	}, {
		ID:    "S32",
		Title: "A second client asks, and nothing else happens",
		Steps: []string{
			"0: c1 acquires the lock",
			"200: c2 asks for it. SETEX overwrites c1's key, and answers OK",
			"5 000: c1 continues under its lease",
		},
		Helps:   "SET NX EX",
		Source:  "the Redis command reference, SETEX: \"equivalent to SET key value EX seconds\"; redis/redis #5231",
		Scripts: secondAsks,
		Verdicts: expect(overlap, "setex").
			and(refusedSecond, "setnx", unguarded, voting, fenced),
	}, {
		ID:    "S33",
		Title: "The lock is held for longer than the waiter has time",
		Steps: []string{
			"0: c1 acquires the lock, and extends it for as long as the run lasts",
			"1 000: c2 asks for it, and is to give up after 5 000",
			"60 000: the run ends. A client without a bound is still waiting",
		},
		Helps:   "a bound, on the time or on the tries",
		Source:  "redis/jedis #670",
		Base:    fiveSeconds,
		Scripts: clients(extends, Script{until(time.Second), await, update, release}),
		Verdicts: expect(breaks(record.Stuck), "spin").
			and(none.reaching("c2 refused").without("c2 acquired"), "setpx-cad redlock default token-admit"),
		Reached: []string{"a lease was extended", "c2 asked"},
	}}
}
