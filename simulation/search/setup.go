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
	Changes  Changes             `json:"changes"`
	Seed     uint64              `json:"seed"`
	Schedule simulation.Schedule `json:"schedule"`
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
	cfg := w.Base
	d.Apply(&cfg)
	s.Changes.apply(&cfg)
	rounds := w.Rounds
	if s.Changes.Rounds != nil {
		rounds = *s.Changes.Rounds
	}
	return run{cfg: cfg, workload: w, work: w.Work(cfg, rounds)}, nil
}

// Play plays a Setup.
//
// All errors are ErrSetup.
func (r Registry) Play(s Setup) (simulation.Result, error) {
	return r.PlayContext(context.Background(), s)
}

// PlayContext is Play until ctx ends; the error then Is ctx's, too.
func (r Registry) PlayContext(ctx context.Context, s Setup) (simulation.Result, error) {
	p, err := r.prepare(s)
	if err != nil {
		return simulation.Result{}, err
	}
	return p.play(ctx, s)
}

// play plays the Setup that was prepared, or one that differs from it in its seed
// and schedule alone.
func (p run) play(ctx context.Context, s Setup) (simulation.Result, error) {
	result, err := simulation.RunContext(ctx, s.Seed, p.cfg, s.Schedule, p.work)
	if err != nil {
		return simulation.Result{}, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	if p.workload.Judge != nil {
		result = p.workload.Judge(s, result)
	}
	return result, nil
}
