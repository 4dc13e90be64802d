package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

func waiting() []Scenario {
	// A run ends after a minute, even if a client still waits.
	fiveSeconds := simulation.Config{
		Horizon: time.Minute,
		Quorum:  quorum.Config{Terms: quorum.Terms{MaxWait: 5 * time.Second}},
	}
	extends := Script{until(0), acquire}
	for n := range time.Duration(10) {
		extends = append(extends, until((n+1)*5*time.Second), extendOrEnd)
	}
	return []Scenario{{
		ID:    "S33",
		Title: "No server can be reached, and the waiter has five seconds",
		Steps: []string{
			"before: nothing that c1 sends arrives",
			"0: c1 asks for the lock, and is to give up after 5 000. On one server each try takes the client's timeout, 3 000",
			"60 000: the run ends. A client that bounds the tries rather than the time, or nothing, is still waiting",
		},
		Assumption: "a try takes no time",
		Breaks:     "liveness: the caller hangs, and so does everybody who waits for the caller",
		Helps:      "a bound on the time, with the caller's own deadline (ctx, MaxWait)",
		Source:     "redis/jedis #670; Redis in Action, 6.2.3, whose loop is bounded by time",
		Base:       fiveSeconds,
		Schedule:   cut(-50*ms, 0, "ABCDE"),
		Alone:      cut(-50*ms, 0, "A"),
		Scripts:    clients(waitingTurn(0, 0)),
		Verdicts: expect(breaks(simulation.Stuck), "spin spin-bounded").
			and(none.reaching("c1 refused"), "setpx-cad redlock default token-admit"),
		Reached: []string{"a call timed out", "c1 asked"},
	}, {
		ID:    "S33b",
		Title: "The lock is held for longer than the waiter has time",
		Steps: []string{
			"0: c1 acquires the lock, and extends it for as long as the run lasts",
			"1 000: c2 asks for it, and is to give up after 5 000",
			"60 000: the run ends. A client without a bound is still waiting",
		},
		Assumption: "every lock is free soon",
		Breaks:     "liveness: the caller hangs",
		Helps:      "a bound, on the time or on the tries",
		Source:     "redis/jedis #670",
		Base:       fiveSeconds,
		Scripts:    clients(extends, waitingTurn(time.Second, 0)),
		Verdicts: expect(breaks(simulation.Stuck), "spin").
			and(none.reaching("c2 refused").without("c2 acquired"), "spin-bounded setpx-cad redlock default token-admit"),
		Reached: []string{"a lease was extended", "c2 asked"},
	}}
}
