package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

func splitVotes() []Scenario {
	var far simulation.Schedule // each client's requests to all servers but one
	for client := range 5 {
		name := fmt.Sprintf("c%d", client+1)
		others := "ABCDE"[:client] + "ABCDE"[client+1:]
		far = append(far, each(others, fault.Fault{Kind: fault.Delay, Process: name, Way: fault.Requests, For: 3 * time.Second, By: 20 * ms})...)
	}
	base := simulation.Config{Processes: 5, LatencyMin: ms, LatencyMax: ms} // alike for all, so that they stay in step
	base.Quorum.MaxTries = 100
	return []Scenario{{
		ID:    "S12",
		Title: "Five clients at once, each nearest to another server",
		Steps: []string{
			"0: five clients ask five servers; each server votes for the client whose SET comes first, so each client has one vote",
			"about 190, 380, ...: clients that wait the same time after a lost round compete again, with the same result",
		},
		Helps:    "random delays; this library's clients then all ask the same server first",
		Source:   "the Redis document, \"Retry on Failure\": a random delay, to desynchronize; samcook/RedLock.net #60",
		Base:     base,
		Schedule: far,
		Scripts:  slices.Repeat([]Script{{until(0), await, release}}, 5),
		Free:     []Free{{Process: fault.Any, By: time.Second}},
		Verdicts: expect(breaks(record.NoProgress), "lockstep").
			and(none.reaching("acquire granted", "acquire refused", "a lease was acquired"), library),
		// This isn't the library's code, which resolves a split in the same try.
		Variants: []designs.Design{withSetting("lockstep", "Redlock by clients that all try again after the same time", "redlock",
			designs.OnMajority(func(r *designs.Recipe) { r.Every = 150 * ms }))},
	}}
}
