package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// Space is a numbered set of Setups, as plain data: Setup number i has the seed i, and a
// schedule that is drawn from it.
type Space struct {
	// Setup is what they have in common. Its Schedule is part of every schedule. Its Seed
	// doesn't matter.
	Setup
	// Faults restricts the kinds of faults. Default: all.
	Faults []fault.Kind `json:"faults,omitempty"`
	// Within restricts the faults to those that the assumptions of package quorum cover, and
	// the findings to violations in which the checks see no broken assumption. Every finding
	// is a bug then.
	Within bool `json:"within,omitempty"`
	// Most is the largest number of faults in a schedule, 1 to 1000. Default 6.
	Most int `json:"most,omitempty"`
}

// cases is a Space with its names looked up.
type cases struct {
	space Space
	run   run
	span  time.Duration // within which the faults begin
}

// open looks up what the Space names.
func (r Registry) open(s Space) (*cases, error) {
	p, err := r.prepare(s.Setup)
	if err != nil {
		return nil, err
	}
	if err := r.validate(s.Setup); err != nil {
		return nil, err
	}
	s.Most = cmp.Or(s.Most, 6)
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	return &cases{space: s, run: p, span: cmp.Or(p.workload.Span, 10*time.Second)}, nil
}

func (s Space) validate() error {
	switch {
	case s.Within && len(s.kinds()) == 0:
		return fmt.Errorf("the assumptions cover none of the faults %v, so that there is nothing to draw within them", s.Faults)
	case s.Most < 1 || s.Most > 1000:
		return fmt.Errorf("at most %d faults, want 1 to 1000", s.Most)
	}
	for _, k := range s.Faults {
		if !slices.Contains(fault.Kinds(), k) {
			return fmt.Errorf("there is no fault %q; there are %v", k, fault.Kinds())
		}
	}
	return nil
}

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

// at is the Setup of a seed.
func (c *cases) at(seed uint64) Setup {
	s := c.space.Setup
	s.Seed = seed
	drawn := simulation.Draw(seed, c.run.cfg, c.space.kinds(), c.space.Most, c.span)
	if c.space.Within {
		drawn = within(drawn, c.run.cfg)
	}
	s.Schedule = slices.Concat(c.space.Schedule, drawn)
	return s
}
