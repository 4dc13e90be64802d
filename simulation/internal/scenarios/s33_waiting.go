package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// fiveSeconds is a world whose waiters are to give up after five seconds. A run ends
// after a minute, whoever still waits then.
var fiveSeconds = simulation.Config{
	Horizon: time.Minute,
	Quorum:  quorum.Config{Terms: quorum.Terms{MaxWait: 5 * time.Second}},
}

// waiter waits for the lock from a moment on.
func waiter(when time.Duration) simulation.Workload { return inLine(when, 0) }

// waitingForServers is S33.
func waitingForServers() Scenario {
	return Scenario{
		ID:    "S33",
		Title: "No server can be reached, and the waiter has five seconds",
		Steps: []string{
			"before: nothing that c1 sends arrives",
			"0: c1 asks for the lock, and is to give up after 5 000. On one server each try takes the client's time-out, 3 000",
			"60 000: the run ends. Who counts tries rather than time, or nothing, is still waiting",
		},
		Assumption: "a try takes no time",
		Breaks:     "liveness: the caller hangs, and with it whoever waits for the caller",
		Helps:      "a bound on the time, with the caller's own deadline (ctx, MaxWait)",
		Source:     "redis/jedis #670; Redis in Action, 6.2.3, whose loop is bounded by time",
		Base:       fiveSeconds,
		Schedule:   cut(-50*ms, 0, "ABCDE"),
		Alone:      cut(-50*ms, 0, "A"),
		Work:       parts(map[string]simulation.Workload{"c1": waiter(0)}),
		Verdicts: expect(breaks(simulation.Stuck), "spin", "spin-bounded").
			and(none.reaching("c1 refused"), "setpx-cad", "redlock", "default", "token-admit"),
		Reached: []string{"a call timed out", "c1 asked"},
	}
}

// waitingForKey is S33b.
func waitingForKey() Scenario {
	return Scenario{
		ID:    "S33b",
		Title: "The lock is held for longer than the waiter has time",
		Steps: []string{
			"0: c1 gets the lock, and extends it for as long as the run lasts",
			"1 000: c2 asks for it, and is to give up after 5 000",
			"60 000: the run ends. Who has no bound is still waiting",
		},
		Assumption: "every lock is free soon",
		Breaks:     "liveness: the caller hangs",
		Helps:      "a bound, on the time or on the tries",
		Source:     "redis/jedis #670",
		Base:       fiveSeconds,
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				lease := take(c)
				for n := time.Duration(1); lease != nil && n < 11; n++ {
					until(c, n*5*time.Second)
					if c.Extend(lease) != nil {
						return
					}
				}
			},
			"c2": waiter(time.Second),
		}),
		Verdicts: expect(breaks(simulation.Stuck), "spin").
			and(none.reaching("c2 refused").without("c2 acquired"), "spin-bounded", "setpx-cad", "redlock", "default", "token-admit"),
		Reached: []string{"a lease was extended", "c2 asked"},
	}
}
