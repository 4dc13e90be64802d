package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
)

// Space is a numbered set of runs: each seed has a schedule that is drawn from it.
type Space struct {
	Workload Workload
	// Design is how the clients lock. Only its Name and Apply are needed here.
	Design designs.Design
	// Faults restricts the kinds of faults. Default: all.
	Faults []fault.Kind
	// Within restricts the faults to those that the assumptions of package quorum cover, and
	// the findings to violations in which the checks see no broken assumption. Every finding
	// is a bug then.
	Within bool
	// Most is the largest number of faults in a schedule, 1 to 1000. Default 6.
	Most int
}

// Play plays a run, whether or not the Space would draw its schedule. It gives the same trace each time, as long as
// the code under test is the same.
//
// All errors are simulation.ErrConfig.
func (s Space) Play(seed uint64, schedule simulation.Schedule) (simulation.Result, error) {
	return simulation.Run(seed, s.config(), schedule, s.Workload.Work)
}

// Schedule is the schedule of a seed.
func (s Space) Schedule(seed uint64) simulation.Schedule {
	cfg := s.config()
	schedule := simulation.Draw(seed, cfg, s.kinds(), cmp.Or(s.Most, 6), cmp.Or(s.Workload.Span, 10*time.Second))
	if s.Within {
		schedule = within(schedule, cfg)
	}
	return schedule
}

func (s Space) config() simulation.Config { return s.Design.Configure(s.Workload.Base) }

// kinds are the kinds of faults that are drawn.
func (s Space) kinds() []fault.Kind {
	kinds := s.Faults
	if len(kinds) == 0 {
		kinds = fault.Kinds()
	}
	if s.Within {
		kinds = coverable(kinds)
	}
	return kinds
}

func (s Space) validate() error {
	switch {
	case s.Within && len(s.kinds()) == 0:
		return fmt.Errorf("search: the assumptions cover none of the faults %v, so that there is nothing to draw within them", s.Faults)
	case s.Most < 0 || s.Most > 1000:
		return fmt.Errorf("search: at most %d faults, want 1 to 1000", s.Most)
	}
	for _, k := range s.Faults {
		if !slices.Contains(fault.Kinds(), k) {
			return fmt.Errorf("search: there is no fault %q; there are %v", k, fault.Kinds())
		}
	}
	return nil
}
