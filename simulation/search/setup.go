package search

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/kernel"
)

// Setup is one run, as plain data: the same Setup gives the same trace, as long as
// the code under test is the same.
type Setup struct {
	Workload string              `json:"workload"`
	Design   string              `json:"design"`
	Changes  Changes             `json:"changes"`
	Seed     uint64              `json:"seed"`
	Schedule simulation.Schedule `json:"schedule"`
	// Choices is the order of events, for a workload whose order is chosen (see
	// kernel.Follow). Without it the order is drawn from the seed.
	Choices []int `json:"choices,omitempty"`
}

// Changes makes a run smaller than its workload and its design make it. A nil field
// changes nothing.
type Changes struct {
	Servers   *int `json:"servers,omitempty"`
	Processes *int `json:"processes,omitempty"`
	// Rounds is how many rounds the workload plays: 1 to as many as it does anyway.
	Rounds *int `json:"rounds,omitempty"`
}

// validate checks what is used before simulation.Run checks the Config.
func (c Changes) validate(w Workload) error {
	switch {
	case c.Rounds != nil && (*c.Rounds < 1 || *c.Rounds > w.Rounds):
		return fmt.Errorf("rounds is %d, want 1 to %d, those of the workload %q", *c.Rounds, w.Rounds, w.Name)
	case c.Servers != nil && (*c.Servers < 1 || *c.Servers > 26):
		return fmt.Errorf("servers is %d, want 1 to 26", *c.Servers)
	case c.Processes != nil && (*c.Processes < 1 || *c.Processes > 64):
		return fmt.Errorf("processes is %d, want 1 to 64", *c.Processes)
	}
	return nil
}

// run is a Setup with its names looked up.
type run struct {
	cfg      simulation.Config
	workload Workload
	work     simulation.Workload
}

// prepare looks up what the Setup names.
func (r Registry) prepare(s Setup) (run, error) {
	w, err := r.Workload(s.Workload)
	if err != nil {
		return run{}, err
	}
	d, err := r.Design(w, s.Design)
	if err != nil {
		return run{}, err
	}
	if err := s.Changes.validate(w); err != nil {
		return run{}, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	cfg := d.Configure(w.Base)
	cfg.Servers = *cmp.Or(s.Changes.Servers, &cfg.Servers)
	cfg.Processes = *cmp.Or(s.Changes.Processes, &cfg.Processes)
	return run{cfg: cfg, workload: w, work: w.Work(cfg, *cmp.Or(s.Changes.Rounds, &w.Rounds))}, nil
}

// Play plays a Setup.
//
// All errors are ErrSetup.
func (r Registry) Play(s Setup) (simulation.Result, error) {
	return r.playContext(context.Background(), s)
}

// playContext is Play until ctx ends. The error then Is also that of ctx.
func (r Registry) playContext(ctx context.Context, s Setup) (simulation.Result, error) {
	p, err := r.prepare(s)
	if err != nil {
		return simulation.Result{}, err
	}
	return p.play(ctx, s)
}

// PlayOrder plays a Setup in the order that Choose of an Order says, whose From is the
// workload's. The Setup's own Choices don't matter.
//
// All errors are ErrSetup.
func (r Registry) PlayOrder(s Setup, order *kernel.Order) (simulation.Result, error) {
	p, err := r.prepare(s)
	if err != nil {
		return simulation.Result{}, err
	}
	if p.workload.From == 0 {
		return simulation.Result{}, fmt.Errorf("%w: the order of events can't be chosen in the workload %q", ErrSetup, s.Workload)
	}
	return p.playOrder(context.Background(), s, order)
}

func (p run) playOrder(ctx context.Context, s Setup, order *kernel.Order) (simulation.Result, error) {
	order.From = p.workload.From
	p.cfg.Order, p.workload.From = order, 0
	s.Choices = nil
	return p.play(ctx, s)
}

// play plays the prepared Setup, or one that differs only in its seed and schedule.
func (p run) play(ctx context.Context, s Setup) (simulation.Result, error) {
	switch {
	case p.workload.From > 0 && s.Choices != nil:
		return p.playOrder(ctx, s, &kernel.Order{Choose: kernel.Follow(s.Choices)})
	case p.workload.From > 0:
		return p.playOrder(ctx, s, &kernel.Order{Choose: kernel.DrawOrder(s.Seed)})
	case s.Choices != nil:
		return simulation.Result{}, fmt.Errorf("%w: it has choices, and the order of events can't be chosen in the workload %q", ErrSetup, s.Workload)
	}
	result, err := simulation.RunContext(ctx, s.Seed, p.cfg, s.Schedule, p.work)
	if err != nil {
		return simulation.Result{}, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	if p.workload.Judge != nil {
		result = p.workload.Judge(s, result)
	}
	return result, nil
}

// validate says what is wrong with a Setup, without playing it to the end.
func (r Registry) validate(s Setup) error {
	p, err := r.prepare(s)
	if err != nil {
		return err
	}
	p.cfg.MaxEvents = 1 // Run validates before the first event
	p.work = func(*simulation.Client) {}
	_, err = p.play(context.Background(), s)
	return err
}
