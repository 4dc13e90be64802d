package orders

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/search"
)

// Plan says which walks to take.
type Plan struct {
	Worlds []string `json:"worlds"`
	Design string   `json:"design"`
	Size   Size     `json:"size"`
	// Faults are kinds of faults. Each walk has one fault of these kinds, at any moment. With
	// Pairs there are also walks with two, which may be alike. The first walk is without a fault.
	Faults []fault.Kind `json:"faults,omitempty"`
	Pairs  bool         `json:"pairs,omitempty"`
}

// Size is how many servers and clients there are.
type Size struct {
	Servers   int `json:"servers"`
	Processes int `json:"processes"`
}

// Setup is what a walk plays in every order.
type Setup struct {
	search.Setup
	Size
}

// Walk is the walk through all orders with one choice of faults.
type Walk struct {
	Setup Setup
	Tree  Tree
	// Found is what the checks found. Its numbers are those of the runs in the walk, from 1.
	Found search.Findings
	// Log is the first run with a violation that no broken assumption excuses, "" if there is none.
	Log string
	// Took is how long the walk has taken.
	Took time.Duration
}

// Walks lists the walks of a plan.
//
// All errors are search.ErrSetup.
func (p Plan) Walks() ([]Walk, error) {
	var all []Walk
	for _, name := range p.Worlds {
		walks, err := p.walks(name)
		if err != nil {
			return nil, err
		}
		all = append(all, walks...)
	}
	return all, nil
}

func (p Plan) walks(world string) ([]Walk, error) {
	s := Setup{search.Setup{Workload: world, Design: p.Design, Schedule: given(world)}, p.Size}
	faults, err := singles(s, p.Faults)
	if err != nil {
		return nil, err
	}
	walks := []Walk{{Setup: s}}
	with := func(faults ...fault.Fault) Setup {
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
			beside, err := losses(one, firstBeside)
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

// registry has the worlds and the designs.
var registry = sync.OnceValue(func() search.Registry {
	return search.Registry{Workloads: Worlds(), Designs: designs.All()}
})

// config is the configuration of a Setup's runs, and their workload.
func config(s Setup) (simulation.Config, search.Workload, error) {
	w, err := registry().Workload(s.Workload)
	if err != nil {
		return simulation.Config{}, w, err
	}
	d, err := registry().Design(s.Design)
	if err != nil {
		return simulation.Config{}, w, err
	}
	cfg := d.Configure(w.Base)
	cfg.Servers, cfg.Processes = s.Servers, s.Processes
	return cfg, w, nil
}

// play plays a Setup in the order that Choose says.
func play(s Setup, order *kernel.Order) (simulation.Result, error) {
	cfg, w, err := config(s)
	if err != nil {
		return simulation.Result{}, err
	}
	order.From = from
	cfg.Order = order
	r, err := simulation.Run(s.Seed, cfg, s.Schedule, w.Work(cfg))
	if err != nil {
		return r, err
	}
	return judge(s.Design, r), nil
}

// Play continues a walk until the budget is used up, the walk is over, or ctx ends.
func (w *Walk) Play(ctx context.Context, budget time.Duration) error {
	began := time.Now()
	defer func() { w.Took += time.Since(began) }()
	order := &kernel.Order{}
	for !w.Tree.Over && ctx.Err() == nil && time.Since(began) < budget {
		var result simulation.Result
		complete, err := w.Tree.next(func(o *kernel.Order) (err error) {
			result, err = play(w.Setup, o)
			return err
		}, order)
		if err != nil {
			return err
		}
		if complete {
			if err := w.take(result); err != nil {
				return err
			}
		}
	}
	return nil
}

// take notes what the checks found in a run.
func (w *Walk) take(r simulation.Result) error {
	if len(r.Log.Violations()) == 0 {
		return nil
	}
	found, err := registry().Findings(w.Tree.Runs, w.Setup.Setup, r)
	for _, f := range found {
		w.Found.Add(f)
		if f.Assumption == 0 && w.Log == "" {
			w.Log = r.Log.String()
		}
	}
	return err
}

// Play plays walks until all are over, or until ctx ends, which isn't an error. It changes the walks. A
// walk is played for a slice of the time before the next walk gets its turn.
func Play(ctx context.Context, walks []Walk, slice time.Duration) error {
	for ctx.Err() == nil && slices.ContainsFunc(walks, func(w Walk) bool { return !w.Tree.Over }) {
		for i := range walks {
			if err := walks[i].Play(ctx, slice); err != nil {
				return fmt.Errorf("the walk with %v: %w", walks[i].Setup.Schedule, err)
			}
		}
	}
	return nil
}
