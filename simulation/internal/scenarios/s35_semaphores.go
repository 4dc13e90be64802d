package scenarios

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func semaphores() []Scenario {
	holdFrom := func(from time.Duration) Script {
		return Script{until(from), acquire, until(4 * time.Second), check, release}
	}
	return []Scenario{{
		ID:    "S35",
		Title: "Three clients want a semaphore for two",
		Steps: []string{
			"0: c1 can't reach D and E for 1 000, and takes a permit",
			"0: c2 can't reach A and B for 1 000",
			"500: c2 takes a permit",
			"2 000: c3 wants a permit; c1 and c2 have theirs until 4 000",
			"a semaphore that servers count: c1 has places on A, B and C, c2 on C, D and E; A, B, D and E have one left each, and three are enough",
		},
		Assumption: "servers that each let two in let two in together",
		Breaks:     "the limit: five servers with a limit of 2 have ten places, a holder needs three, and so three get in",
		Helps:      "a lock for each permit (AcquireAny): each key has one holder, so n keys have n",
		Source:     "swarthy/redis-semaphore, RedlockSemaphore",
		Base:       simulation.Config{Processes: 3},
		Schedule: append(
			each("DE", fault.Fault{Kind: fault.Cut, Process: "c1", At: at(0), For: time.Second}),
			each("AB", fault.Fault{Kind: fault.Cut, Process: "c2", At: at(0), For: time.Second})...,
		),
		Scripts: clients(holdFrom(0), holdFrom(500*ms), holdFrom(2*time.Second)),
		Verdicts: expect(none.reaching("c1 acquired", "c2 acquired", "c3 refused"), "any-of-two").
			and(breaks(record.TwoHolders).reaching("c1 acquired", "c2 acquired", "c3 acquired"), "semaphore-of-servers"),
	}}
}
