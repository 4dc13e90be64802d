package search

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// How says how a Space makes its Setups.
type How string

// The ways.
const (
	// Draw: Setup number i has the seed i, and a schedule that is drawn from it.
	Draw How = "draw"
	// Each: one seed, and each single fault at each moment of its run at which it could
	// matter.
	Each How = "each"
	// Pairs: one seed, and two of the faults of Each.
	Pairs How = "pairs"
)

// Space is a numbered set of Setups, as plain data.
type Space struct {
	// Setup is what they have in common. Its Schedule is part of every schedule. For Draw
	// its Seed doesn't matter.
	Setup
	How How `json:"how"`
	// Faults restricts the kinds of faults. Default: all. Each and Pairs have no Lose, no
	// Reorder and no Proxy, which have no effect at a single moment.
	Faults []fault.Kind `json:"faults,omitempty"`
	// Within restricts Draw to faults that the assumptions of package quorum cover, and to
	// violations in which the checks see no broken assumption. Every finding is a bug then.
	Within bool `json:"within,omitempty"`
	// Most is, for Draw, the largest number of faults in a schedule, 1 to 1000.
	// Default 6.
	Most int `json:"most,omitempty"`
	// Span is, for Draw, the time within which they begin. Default: the workload's.
	Span time.Duration `json:"span_ns,omitempty"`
	// Lengths is, for Each and Pairs, how long faults take, or how far clocks jump.
	// Default: a twentieth of the TTL, half of it, and one and a half.
	Lengths []time.Duration `json:"lengths_ns,omitempty"`
	// Sample is, for Pairs, the number of pairs to play, spread evenly. Default: all.
	Sample uint64 `json:"sample,omitempty"`
	// Alone is, for Pairs, the effect of single faults (Report.Hits of Each). A pair counts
	// only for violations that neither fault shows alone.
	Alone []Hit `json:"alone,omitempty"`
}

// cases is a Space with its names looked up.
type cases struct {
	space   Space
	run     run
	singles []fault.Fault                     // Each, Pairs
	alone   map[uint64][]record.ViolationKind // Pairs
	n       uint64                            // the number of cases
}

// open looks up what the Space names. For Each and Pairs it plays one run.
func (r Registry) open(s Space) (*cases, error) {
	p, err := r.prepare(s.Setup)
	if err != nil {
		return nil, err
	}
	if err := r.validate(s.Setup); err != nil {
		return nil, err
	}
	s.Most = cmp.Or(s.Most, 6)
	s.Span = cmp.Or(s.Span, p.workload.Span, 10*time.Second)
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	c := &cases{space: s, run: p, n: math.MaxUint64}
	if s.How == Draw {
		return c, nil
	}
	if c.singles, err = p.singles(s); err != nil {
		return nil, err
	}
	c.n = uint64(len(c.singles))
	if s.How == Pairs {
		c.alone = map[uint64][]record.ViolationKind{}
		for _, hit := range s.Alone {
			c.alone[hit.Number] = hit.Kinds
		}
		c.n = pairs(c.n)
		if s.Sample != 0 {
			c.n = min(c.n, s.Sample)
		}
	}
	return c, nil
}

// Size is the number of Setups: for Draw, the number of seeds.
func (r Registry) Size(s Space) (uint64, error) {
	c, err := r.open(s)
	if err != nil {
		return 0, err
	}
	return c.n, nil
}

func (s Space) validate() error {
	switch {
	case !slices.Contains([]How{Draw, Each, Pairs}, s.How):
		return fmt.Errorf("How is %q, want %q, %q or %q", s.How, Draw, Each, Pairs)
	case s.Within && s.How != Draw:
		return fmt.Errorf("only %q can be within the assumptions, and How is %q", Draw, s.How)
	case s.Within && len(s.kinds()) == 0:
		return fmt.Errorf("the assumptions cover none of the faults %v, so that there is nothing to draw within them", s.Faults)
	case s.Most < 1 || s.Most > 1000:
		return fmt.Errorf("at most %d faults, want 1 to 1000", s.Most)
	case s.Span < 1 || s.Span > longest:
		return fmt.Errorf("a span of %v, want more than 0, up to %v", s.Span, longest)
	}
	for _, l := range s.Lengths {
		if l < 1 || l > longest {
			return fmt.Errorf("a length of %v, want more than 0, up to %v", l, longest)
		}
	}
	for _, k := range s.Faults {
		if !slices.Contains(fault.Kinds(), k) {
			return fmt.Errorf("there is no fault %q; there are %v", k, fault.Kinds())
		}
	}
	return nil
}

// allows reports whether faults of this kind are played.
func (s Space) allows(k fault.Kind) bool {
	return len(s.Faults) == 0 || slices.Contains(s.Faults, k)
}

// at is Setup number i, and a label for the faults that were added.
func (c *cases) at(i uint64) (s Setup, label string) {
	s = c.space.Setup
	switch c.space.How {
	case Draw:
		s.Seed = i
		s.Schedule = slices.Concat(c.space.Schedule, c.draw(i))
		return s, ""
	case Each:
		f := c.singles[i]
		s.Schedule = append(slices.Clone(s.Schedule), f)
		return s, name(f)
	default:
		a, b := c.pair(i)
		s.Schedule = append(slices.Clone(s.Schedule), c.singles[a], c.singles[b])
		return s, name(c.singles[a]) + " + " + name(c.singles[b])
	}
}

// counts reports whether a violation counts for the Setup number i.
func (c *cases) counts(i uint64, kind record.ViolationKind) bool {
	if c.space.How != Pairs {
		return true
	}
	a, b := c.pair(i)
	return !slices.Contains(c.alone[a], kind) && !slices.Contains(c.alone[b], kind)
}

// pairs is how many pairs n things make.
func pairs(n uint64) uint64 {
	if n < 2 {
		return 0
	}
	return n * (n - 1) / 2
}

// pair is the two faults, the earlier one first, of pair number i of the sample.
func (c *cases) pair(i uint64) (a, b uint64) {
	hi, lo := bits.Mul64(i, pairs(uint64(len(c.singles))))
	p, _ := bits.Div64(hi, lo, c.n)
	// Pair p is the p-th of (0,1), (0,2), (1,2), (0,3), ...: the b with
	// b(b-1)/2 <= p. The root may be off by rounding.
	b = uint64(math.Sqrt(2 * float64(p)))
	for pairs(b) > p {
		b--
	}
	for pairs(b+1) <= p {
		b++
	}
	return p - pairs(b), b
}

// name is a fault without its times, for a table.
func name(f fault.Fault) string {
	words := string(f.Kind) + " " + f.Process
	if f.Process != "" && f.Server != "" {
		words += "-"
	}
	words += f.Server
	if f.Way != fault.Both {
		words += " " + string(f.Way)
	}
	if f.Op != "" {
		words += " at its " + f.Op
	}
	return words
}

// kinds are the kinds of faults for Draw.
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

// draw makes the schedule of a seed.
func (c *cases) draw(seed uint64) simulation.Schedule {
	schedule := simulation.Draw(seed, c.run.cfg, c.space.kinds(), c.space.Most, c.space.Span)
	if c.space.Within {
		return within(schedule, c.run.cfg)
	}
	return schedule
}
