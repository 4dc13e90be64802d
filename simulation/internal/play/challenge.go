package play

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// drawnSpan is the time within which the faults of a search begin.
const drawnSpan = 12 * time.Second

// searchAnswer is the result of some runs with random faults.
type searchAnswer struct {
	Runs uint64 `json:"runs"`
	// Next is the seed at which the search continues. After the last one comes 0.
	Next uint64 `json:"next,string"`
	// Found says that the last of the runs violates something. Then the rest is that run: its
	// seed, its schedule and its verdict.
	Found    bool                `json:"found"`
	Seed     uint64              `json:"seed,string"`
	Schedule simulation.Schedule `json:"schedule"`
	Verdict  string              `json:"verdict"`
}

// harm returns the kinds of violations of a run that break a design. That nobody gets the lock is
// none of them: under enough faults no lock can be had. If the resource checks tokens, the data has
// to be damaged: a second holder whose writes are refused does no harm.
func harm(r simulation.Result, d designs.Design) []record.ViolationKind {
	harmless := []record.ViolationKind{record.NoProgress, record.NeverFree}
	if d.Fenced() {
		harmless = append(harmless, record.TwoHolders, record.Overvalued)
	}
	return slices.DeleteFunc(r.Kinds(), func(k record.ViolationKind) bool { return slices.Contains(harmless, k) })
}

// search plays a base with random faults, from seed to seed, until one of the runs does harm.
func (r request) search() (searchAnswer, error) {
	at, err := placeOf(r.Base, r.Design)
	if err != nil {
		return searchAnswer{}, err
	}
	kinds := r.Kinds
	if len(kinds) == 0 {
		kinds = fault.Kinds()
	}
	for _, k := range kinds {
		if !slices.Contains(fault.Kinds(), k) {
			return searchAnswer{}, fmt.Errorf("%w: there is no fault %.30q; there are %v", ErrRequest, k, fault.Kinds())
		}
	}
	if r.Most < 1 || r.Count < 1 {
		return searchAnswer{}, fmt.Errorf("%w: most is %d faults, and count %d runs, want at least 1 of both", ErrRequest, r.Most, r.Count)
	}
	answer := searchAnswer{Next: uint64(r.Seed), Schedule: simulation.Schedule{}, Verdict: "none"}
	for range r.Count {
		seed := answer.Next
		cfg, _ := at.setting(seed)
		schedule := simulation.Draw(seed, cfg, kinds, r.Most, drawnSpan)
		result, err := at.own.PlaySchedule(seed, at.design, schedule)
		if err != nil {
			return answer, err
		}
		answer.Runs++
		answer.Next++
		if len(harm(result, at.design)) > 0 {
			answer.Found, answer.Seed, answer.Schedule, answer.Verdict = true, seed, schedule, Found(result)
			break
		}
	}
	return answer, nil
}

// shrinkAnswer is a smaller schedule that does the same harm.
type shrinkAnswer struct {
	Schedule simulation.Schedule `json:"schedule"`
	// Kind is the kind of violation that it has kept, and Runs how many runs it took.
	Kind record.ViolationKind `json:"kind"`
	Runs int                  `json:"runs"`
}

// shrink makes a schedule smaller while it still does harm of the same kind.
func (r request) shrink() (shrinkAnswer, error) {
	at, err := placeOf(r.Base, r.Design)
	if err != nil {
		return shrinkAnswer{}, err
	}
	schedule, err := r.schedule()
	if err != nil {
		return shrinkAnswer{}, err
	}
	play := func(s simulation.Schedule) ([]record.ViolationKind, error) {
		result, err := at.own.PlaySchedule(uint64(r.Seed), at.design, s)
		return harm(result, at.design), err
	}
	kinds, err := play(schedule)
	if err != nil {
		return shrinkAnswer{}, err
	}
	if len(kinds) == 0 {
		return shrinkAnswer{}, fmt.Errorf("%w: the schedule violates nothing, so that there is nothing to keep", ErrRequest)
	}
	answer := shrinkAnswer{Kind: kinds[0]}
	answer.Schedule, answer.Runs = search.ShrinkSchedule(context.Background(), schedule, func(s simulation.Schedule) bool {
		kinds, err := play(s)
		return err == nil && slices.Contains(kinds, answer.Kind)
	})
	answer.Runs++
	answer.Schedule = append(simulation.Schedule{}, answer.Schedule...) // a list, not null
	return answer, nil
}
