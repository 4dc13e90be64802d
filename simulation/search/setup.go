package search

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/simulation"
)

// Setup is one run, as plain data: the same Setup gives the same trace, as long as
// the code under test is the same.
type Setup struct {
	Workload string              `json:"workload"`
	Design   string              `json:"design"`
	Seed     uint64              `json:"seed"`
	Schedule simulation.Schedule `json:"schedule"`
}

// run is a Setup with its names looked up.
type run struct {
	cfg      simulation.Config
	workload Workload
}

// prepare looks up what the Setup names.
func (r Registry) prepare(s Setup) (run, error) {
	w, err := r.Workload(s.Workload)
	if err != nil {
		return run{}, err
	}
	d, err := r.Design(s.Design)
	if err != nil {
		return run{}, err
	}
	return run{cfg: d.Configure(w.Base), workload: w}, nil
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

// play plays the prepared Setup, or one that differs only in its seed and schedule.
func (p run) play(ctx context.Context, s Setup) (simulation.Result, error) {
	result, err := simulation.RunContext(ctx, s.Seed, p.cfg, s.Schedule, p.workload.Work(p.cfg))
	if err != nil {
		return simulation.Result{}, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	if p.workload.Judge != nil {
		result = p.workload.Judge(result)
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
	p.workload.Work = func(simulation.Config) simulation.Workload { return func(*simulation.Client) {} }
	_, err = p.play(context.Background(), s)
	return err
}
