package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

func notAtomic() []Scenario {
	return []Scenario{{
		ID:    "S16",
		Title: "A crash between SETNX and EXPIRE",
		Steps: []string{
			"0: c1 sends its first command, and crashes before its second",
			"60 000: c2 asks for the lock",
			"later: so does everybody else",
		},
		Assumption: "two commands are one",
		Breaks:     "liveness, forever",
		Helps:      "SET NX PX, one command",
		Source:     "redis/redis-py #554, lukas-krecan/ShedLock #65, laravel/horizon #1738; the command page of SET",
		Base:       simulation.Config{Witness: true},
		Schedule:   simulation.Schedule{{Kind: simulation.Crash, Process: "c1", At: at(0), Nth: 2}},
		Scripts:    clients(turn(0, 0), turn(60*time.Second, 0)),
		Verdicts: expect(none.reaching("c2 write"), unguarded, voting, fenced).
			and(breaks(simulation.NeverFree).reaching("c2 refused"), "setnx setnx-expire"),
		Reached: []string{"a process crashed"},
	}}
}
