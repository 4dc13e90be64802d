package scenarios

import (
	"context"
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// roundTime is the time between the rounds of clients in lockstep.
const roundTime = 100 * ms

// evenly is a network in which a round has ended everywhere before anybody has deleted
// anything: each server's vote is one random choice among the clients.
var evenly = simulation.Config{LatencyMin: 10 * ms, LatencyMax: 11 * ms}

// lockstep is Redlock by clients that try again after a fixed time, all at the same moment. It
// isn't this library's code, which resolves a split in the same try.
func lockstep() designs.Design {
	return wrapped("lockstep", "Redlock in two pages of code, by clients that try again at fixed moments", "textbook",
		func(p simulation.Process, l simulation.Locker) simulation.Locker { return inStep{l, p} })
}

// inStep is a Locker that tries in lockstep with others.
type inStep struct {
	simulation.Locker
	p simulation.Process
}

// Acquire tries a hundred times at most.
func (l inStep) Acquire(ctx context.Context, key string) (lease simulation.Lease, err error) {
	clock := l.p.Config.Lab.Clock
	began := clock.Now()
	for range 100 {
		if lease, err = l.TryAcquire(ctx, key); err == nil || ctx.Err() != nil {
			return lease, err
		}
		clock.Sleep(roundTime - clock.Since(began)%roundTime)
	}
	return nil, err
}

// splitVotes is S12. TestSplitVotes counts the ways in which a round has no winner.
func splitVotes() []Scenario {
	base := evenly
	base.Processes = 5
	base.Quorum.MaxTries = 100
	return []Scenario{{
		ID:       "S12",
		Title:    "Five clients at once, and nobody gets a majority",
		Unplayed: "on real servers it is chance which client gets which vote first",
		Steps: []string{
			"0: five clients ask five servers; each server votes for the client whose SET comes first, and seldom do three vote for the same client",
			"100, 200, ...: clients that wait the same time after a lost round compete again",
		},
		Assumption: "some client wins",
		Breaks:     "liveness, as long as the clients stay in step: a round has no winner with a probability of .710",
		Helps:      "random delays",
		Source:     "the Redis document, \"Retry on Failure\": a random delay, to desynchronize; samcook/RedLock.net #60",
		Base:       base,
		Scripts:    slices.Repeat([]Script{{until(0), await, release}}, 5),
		Free:       []Free{{Process: fault.Any, By: 170 * ms}},
		Reached:    []string{"acquire granted", "acquire refused", "a lease was acquired"},
		Verdicts: expect(Verdict{Kinds: breaks(record.NoProgress).Kinds, AtLeast: .2}, "lockstep").
			and(none, voting, fenced),
		Variants: []designs.Design{lockstep()},
	}}
}
