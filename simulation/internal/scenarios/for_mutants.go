package scenarios

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// ForMutants returns scenarios that show mistakes which no listed design makes. They are not
// among All.
func ForMutants() []Scenario {
	all := []Scenario{raiseUnanswered(), quarantineLasts(), pauseBeforeExtension(), shortExtension(), stragglerBehind()}
	for i := range all {
		all[i].Work = workload(all[i].Scripts)
	}
	return all
}

// neverSecond is the result of the library in most of them.
var neverSecond = none.without("c2 acquired")

// cutOff loses messages between a process and servers for a while, or until the end.
func cutOff(process string, from, length time.Duration, servers string, way fault.Way) simulation.Schedule {
	return each(servers, fault.Fault{Kind: fault.Cut, Process: process, At: at(from), For: length, Way: way})
}

// pausedAt is a pause just before a function of the library reads the clock.
func pausedAt(function string, nth int, length time.Duration) fault.Fault {
	return fault.Fault{Kind: fault.Pause, Process: "c1", Op: "clock", Func: function, Nth: nth, For: length}
}

// raiseUnanswered is a round whose raises get no reply. The client cannot know which
// servers raised their counters; here none did.
func raiseUnanswered() Scenario {
	return Scenario{
		ID:    "M1",
		Title: "Counters are to be raised to the token, and no reply comes",
		Steps: []string{
			"0: c1 gets the lock on all five and gives it back: all counters are alike",
			"1 000: of the five c3 reaches C alone, and loses three rounds: C has counted three more",
			"2 000: c1, which doesn't reach D and E, is granted by A, B and C; C's count is to be the token, and the raises of A and B are lost",
			"3 000: c2, which doesn't reach C, gets the lock; none of its servers knows that token",
		},
		Assumption: "what was sent was done",
		Breaks:     "the order of tokens: c2's is smaller than c1's was",
		Helps:      "a raise that went unanswered doesn't count: c1's round is lost",
		Source:     "package quorum, round: the proof that tokens rise",
		Base:       simulation.Config{Processes: 3, LatencyMin: ms, LatencyMax: ms},
		Schedule: slices.Concat(
			cutOff("c3", 900*ms, 0, "ABDE", fault.Both),
			cutOff("c1", 1900*ms, 200*ms, "DE", fault.Both),
			cutOff("c1", 2001*ms, 100*ms, "AB", fault.Requests), // the SETs are in flight; no later request arrives
			cutOff("c2", 2900*ms, 0, "C", fault.Both),
		),
		Scripts: clients(
			Script{attempt(turn(0, 0)...), attempt(turn(2*time.Second, 0)...)},
			turn(3*time.Second, 0),
			keepTrying(time.Second, 3, 200*ms),
		),
		Verdicts: expect(none.reaching("a raise was needed", "c2 acquired"), "default").
			and(none.reaching("a raise was needed", "c2 write"), "token-admit"),
		Reached: []string{"c1 acquired", "c1 refused", "c3 refused"},
	}
}

// quarantineLasts is S7 with a second client that keeps trying.
func quarantineLasts() Scenario {
	return Scenario{
		ID:    "M2",
		Title: "A server crashes and comes back empty, and is asked again and again",
		Steps: []string{
			"0: c1 gets the lock on A, B and C; D and E can't be reached by it",
			"50: C crashes; 150: it is back, without any key",
			"200 to 3 500: c2 tries four times, each time until nobody is seen to win",
			"4 000: c1 goes on under its lease, and gives it back",
		},
		Assumption: "a vote stands for its TTL",
		Breaks:     "mutual exclusion, when the quarantine ends before c1's lease does",
		Helps:      "a quarantine for the longest TTL in use",
		Source:     "the Redis document, \"Performance, Crash Recovery and fsync\", on delayed restarts",
		Scripts:    clients(twoUpdatesAndRelease(0, 4*time.Second), keepTrying(200*ms, 4, 200*ms)),
		Verdicts:   expect(neverSecond, "default token-admit quarantine monitor"),
		Reached:    []string{"c1 write", "c2 refused", "a quarantine began: restarted"},
	}.atVictim(0, fault.Fault{Kind: fault.Restart, At: at(50 * ms), For: 100 * ms})
}

// pauseBeforeExtension is a pause at which an extension reads its start time.
func pauseBeforeExtension() Scenario {
	return Scenario{
		ID:    "M3",
		Title: "The holder stops where its extension reads the clock",
		Steps: []string{
			"0: c1 gets the lock, until 9 888 as it knows it",
			"1 000: c1 begins to extend it, and stops for 8 000 at the first reading of the clock there",
			"9 000: c1 goes on, and has extended it until 18 888",
			"12 000: c2 asks",
		},
		Assumption: "none",
		Breaks:     "mutual exclusion, if the extension was sent before the reading that it counts from: its keys end at 11 000",
		Helps:      "the start is read before anything is sent",
		Source:     "package quorum, Lease.Extend",
		Schedule:   simulation.Schedule{pausedAt("quorum.(*core).send", 1, 8*time.Second)},
		Scripts: clients(
			Script{until(0), acquire, until(time.Second), extend, sleep(5 * time.Second), release},
			turn(12*time.Second, 0),
		),
		Verdicts: expect(neverSecond, "default token-admit"),
		Reached:  []string{"c1 extended", "c2 refused", "a process stopped at a reading of its clock"},
	}
}

// shortExtension is an extension that MaxLife makes shorter than the remaining validity.
func shortExtension() Scenario {
	return Scenario{
		ID:    "M4",
		Title: "The wall clock is stepped forward, and back, while an extension works out how long it may be",
		Steps: []string{
			"0: c1 gets the lock on A, B and C, until 9 888 as it knows it; D and E can't be reached by it",
			"1 000: c1 begins to extend it, and stops for 100 where it works out what MaxLife, 11 000, leaves; its wall clock is stepped forward by 8 000 there",
			"1 100: c1 goes on: what is left by that clock is a TTL of 1 900; of A, B and C it reaches A",
			"1 500: the wall clock is stepped back",
			"4 000: c2 asks",
		},
		Assumption: "none: the larger of two clocks' counts is used",
		Breaks:     "mutual exclusion, if A was given the shorter TTL: c1's lease is on B and C alone at 4 000",
		Helps:      "no extension is sent that is shorter than what is left",
		Source:     "package quorum, Lease.Extend",
		Base:       simulation.Config{Quorum: quorum.Config{Terms: quorum.Terms{MaxLife: 11 * time.Second}}},
		Schedule: slices.Concat(simulation.Schedule{
			pausedAt("quorum.(*Lease).nextTTL", 1, 100*ms),
			{Kind: fault.Step, Process: "c1", At: at(1050 * ms), By: 8 * time.Second},
			{Kind: fault.Step, Process: "c1", At: at(1500 * ms), By: -8 * time.Second},
		}, cut(-100*ms, 0, "DE"), cut(1050*ms, 500*ms, "BC")),
		Scripts: clients(
			Script{until(0), acquire, until(time.Second), extend, sleep(4 * time.Second), release},
			turn(4*time.Second, 0),
		),
		Verdicts: expect(neverSecond, "default token-admit"),
		Reached:  []string{"c1 acquired", "c2 refused", "a process stopped at a reading of its clock"},
	}
}

// stragglerBehind is a late granter whose raise is lost.
func stragglerBehind() Scenario {
	return Scenario{
		ID:    "M5",
		Title: "A straggler's counter is behind the token, and its raise is lost",
		Steps: []string{
			"before: C's clock is four seconds slow, which is what its counters begin with where they are lost",
			"0: c1 gets the lock on all five and gives it back: all counters are alike",
			"1 000: of the five c3 reaches C alone, and loses three rounds: C has counted three more",
			"2 000: c1, which doesn't reach E, gets the lock on A, B and C, whose count is the token; D answers later, and the raise to the token is lost on the way",
			"2 500: c1 extends the lock, which puts back what D lacks: the token",
			"3 000: c1 gives it back; 3 500: C forgets its counter",
			"4 000: c2, which doesn't reach A and B, gets the lock on C, D and E",
		},
		Assumption: "servers keep their counters: C doesn't",
		Breaks:     "the order of tokens, if D is held to have the token",
		Helps:      "a straggler that voted below the token lacks it until a raise or a restore was granted",
		Source:     "package quorum, round: the proof that tokens rise",
		// Old enough even by C's clock.
		Base: simulation.Config{Processes: 3, LatencyMin: ms, LatencyMax: ms, ServerAge: 3 * time.Hour},
		Schedule: slices.Concat(simulation.Schedule{
			{Kind: fault.Step, Server: "C", By: -4 * time.Second},
			{Kind: fault.Delay, Process: "c1", Server: "D", At: at(2000 * ms), For: 1, By: 20 * ms, Way: fault.Requests},
			{Kind: fault.Evict, Server: "C", Key: "{k}", At: at(3500 * ms)},
		},
			cutOff("c3", 900*ms, 0, "ABDE", fault.Both),
			cutOff("c1", 1900*ms, time.Second, "E", fault.Both),
			cutOff("c1", 2010*ms, 200*ms, "D", fault.Requests), // the raise
			cutOff("c2", 3900*ms, 0, "AB", fault.Both),
		),
		Scripts: clients(
			Script{attempt(turn(0, 0)...), until(2 * time.Second), acquire, until(2500 * ms), extend, until(3 * time.Second), release},
			turn(4*time.Second, 0),
			keepTrying(time.Second, 3, 200*ms),
		),
		Verdicts: expect(none.reaching("c2 acquired"), "default"),
		Reached:  []string{"c1 acquired", "c3 refused", "c1 extended"},
	}
}
