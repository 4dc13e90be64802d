package orders

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/farm"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// Plan says which walks to take.
type Plan struct {
	Worlds  []string       `json:"worlds"`
	Design  string         `json:"design"`
	Changes search.Changes `json:"changes"`
	// Faults are kinds of faults. Each walk has one fault of these kinds, at any moment. With
	// Pairs there are also walks with two, which may be alike. The first walk is without a fault.
	Faults []fault.Kind `json:"faults,omitempty"`
	Pairs  bool         `json:"pairs,omitempty"`
}

// Walk is the walk through all orders with one choice of faults.
type Walk struct {
	Setup search.Setup `json:"setup"`
	Tree  Tree         `json:"tree"`
	// Found is what the checks found. Its numbers are those of the runs in the walk, from 1.
	Found search.Findings `json:"found,omitempty"`
	// Outcomes counts the runs by what the clients got.
	Outcomes map[string]uint64 `json:"outcomes,omitempty"`
	// Took is how long the walk has taken.
	Took time.Duration `json:"took_ns"`
}

// Walks lists the walks of a plan.
//
// All errors are search.ErrSetup.
func (p Plan) Walks(r search.Registry) ([]Walk, error) {
	var all []Walk
	for _, name := range p.Worlds {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("%w: there is no world %q; there are: %s", search.ErrSetup, name, strings.Join(Names(), ", "))
		}
		walks, err := p.walks(r, name)
		if err != nil {
			return nil, err
		}
		all = append(all, walks...)
	}
	return all, nil
}

func (p Plan) walks(r search.Registry, world string) ([]Walk, error) {
	s := search.Setup{Workload: world, Design: p.Design, Changes: p.Changes, Schedule: given(world)}
	if _, err := r.PlayOrder(s, &kernel.Order{}); err != nil {
		return nil, err
	}
	faults, err := singles(r, s, p.Faults)
	if err != nil {
		return nil, err
	}
	walks := []Walk{{Setup: s}}
	with := func(faults ...fault.Fault) search.Setup {
		s := s
		s.Schedule = slices.Concat(s.Schedule, faults)
		walks = append(walks, Walk{Setup: s})
		return s
	}
	for i, f := range faults {
		one := with(f)
		if !p.Pairs {
			continue
		}
		for _, g := range faults[:i] {
			with(g, f)
		}
		if repeats(f) {
			with(f, f)
		}
		if slices.Contains(p.Faults, fault.Lose) {
			// The first fault may bring about messages, such as a delete that is repeated.
			beside, err := losses(r, one, firstBeside)
			if err != nil {
				return nil, err
			}
			for _, g := range beside {
				if !slices.Contains(faults, g) {
					with(g, f)
				}
			}
		}
	}
	return walks, nil
}

// Names returns the names of the Worlds.
func Names() []string {
	var names []string
	for _, w := range Worlds() {
		names = append(names, w.Name)
	}
	return names
}

// Play continues a walk until the budget is used up, the walk is over, or ctx ends.
func (w *Walk) Play(ctx context.Context, r search.Registry, budget time.Duration) error {
	began := time.Now()
	defer func() { w.Took += time.Since(began) }()
	order := &kernel.Order{}
	for !w.Tree.Over && ctx.Err() == nil && time.Since(began) < budget {
		var result simulation.Result
		complete, err := w.Tree.next(func(o *kernel.Order) (err error) {
			result, err = r.PlayOrder(w.Setup, o)
			return err
		}, order)
		if err != nil {
			return err
		}
		if complete {
			if err := w.take(r, result, order); err != nil {
				return err
			}
		}
	}
	return nil
}

// take counts a run, and what the checks found in it.
func (w *Walk) take(registry search.Registry, r simulation.Result, order *kernel.Order) error {
	if w.Outcomes == nil {
		w.Outcomes = map[string]uint64{}
	}
	w.Outcomes[outcome(r)]++
	if len(r.Log.Violations()) == 0 {
		return nil
	}
	s := w.Setup
	s.Choices = order.Choices()
	if s.Choices == nil {
		s.Choices = []int{0} // an empty list would mean a random order
	}
	found, err := registry.Findings(w.Tree.Runs, s, r)
	for _, f := range found {
		w.Found.Add(f)
	}
	return err
}

// outcome says what the clients got, sorted.
func outcome(r simulation.Result) string {
	var got []string
	for e := range r.Log.All() {
		if e.At >= from && slices.Contains([]record.EventKind{record.Acquired, record.Refused, record.Extended, record.HandedOff, record.Crashed}, e.Kind) {
			got = append(got, strings.TrimSpace(e.Process+" "+e.Kind.String()+" "+e.Key))
		}
	}
	slices.Sort(got)
	return strings.Join(got, ", ")
}

// Options says how walks are played.
type Options struct {
	// Workers is the number of worker processes. If it is 0, this process plays.
	Workers int
	// Command makes the command of a worker process with exec.CommandContext. The process
	// must call Serve. Required if there are workers.
	Command func(ctx context.Context) farm.Command
	// Progress, if set, is called now and then with all walks.
	Progress func([]Walk)
	// Slice is how long a walk is played before the next walk gets its turn. Default 3 s.
	Slice time.Duration
}

// slice is a worker's job: to continue a walk for some time.
type slice struct {
	Walk   Walk          `json:"walk"`
	Budget time.Duration `json:"budget_ns"`
}

// String names the walk by its faults.
func (s slice) String() string { return fmt.Sprintf("the walk with %v", s.Walk.Setup.Schedule) }

// Play plays walks until all are over, or until ctx ends, which isn't an error. It changes the walks.
func Play(ctx context.Context, r search.Registry, walks []Walk, o Options) error {
	if o.Slice <= 0 {
		o.Slice = 3 * time.Second
	}
	workers := farm.Farm[struct{}, slice, Walk]{Workers: o.Workers, Command: o.Command, Player: player(ctx, r)}
	if err := workers.Validate(); err != nil {
		return fmt.Errorf("%w: %w", search.ErrSetup, err)
	}
	for ctx.Err() == nil && slices.ContainsFunc(walks, func(w Walk) bool { return !w.Tree.Over }) {
		err := workers.Run(ctx, jobs(walks, o.Slice), func(job farm.Job[slice], walk Walk) {
			walks[job.From] = walk
			if o.Progress != nil {
				o.Progress(walks)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func jobs(walks []Walk, budget time.Duration) iter.Seq[farm.Job[slice]] {
	return func(yield func(farm.Job[slice]) bool) {
		for i, w := range walks {
			if !w.Tree.Over && !yield(farm.Job[slice]{What: slice{w, budget}, From: uint64(i), To: uint64(i) + 1}) {
				return
			}
		}
	}
}

func player(ctx context.Context, r search.Registry) farm.Player[slice, Walk] {
	return func(s slice, _ uint64, sum *Walk) error {
		*sum = s.Walk
		return sum.Play(ctx, r, s.Budget)
	}
}

// Serve plays walks in a worker process (Options.Command).
func Serve(r search.Registry, in io.Reader, out io.Writer) error {
	return farm.Serve(in, out, func(struct{}) (farm.Player[slice, Walk], error) {
		return player(context.Background(), r), nil
	})
}
