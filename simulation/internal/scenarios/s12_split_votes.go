package scenarios

import (
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// splitVotes is S12. TestSplitVotes counts the ways in which a round has no winner.
func splitVotes() []Scenario {
	// A round has ended everywhere before anybody has deleted anything: each server's vote is one random
	// choice among the clients.
	base := simulation.Config{Processes: 5, LatencyMin: 5 * ms, LatencyMax: 10 * ms}
	base.Quorum.MaxTries = 100
	// This isn't the library's code, which resolves a split in the same try.
	lockstep := withSetting("lockstep", "Redlock by clients that all try again after the same time", "redlock",
		designs.OnMajority(func(r *designs.Recipe) { r.Every = 150 * ms }))
	return []Scenario{{
		ID:       "S12",
		Title:    "Five clients at once, and nobody gets a majority",
		Unplayed: "on real servers it is chance which client gets which vote first",
		Steps: []string{
			"0: five clients ask five servers; each server votes for the client whose SET comes first, and seldom do three vote for the same client",
			"about 190, 380, ...: clients that wait the same time after a lost round compete again",
		},
		Assumption: "some client wins",
		Breaks:     "liveness, as long as the clients stay in step: a round has no winner with a probability of .710",
		Helps:      "random delays",
		Source:     "the Redis document, \"Retry on Failure\": a random delay, to desynchronize; samcook/RedLock.net #60",
		Base:       base,
		Scripts:    slices.Repeat([]Script{{until(0), await, release}}, 5),
		Free:       []Free{{Process: fault.Any, By: 170 * ms}},
		Verdicts: expect(Verdict{Kinds: breaks(record.NoProgress).Kinds, AtLeast: .5}, "lockstep").
			and(none.reaching("acquire granted", "acquire refused", "a lease was acquired"), "quarantine", watching, fenced),
		Variants: []designs.Design{lockstep},
	}}
}
