// Package play plays single runs: a scenario's clients, or those of a column of the matrix, with
// a design, a seed and a schedule. The command run and the page in a browser both use it, so that
// one run is the same run in both. Answer is its interface for other programs, in JSON.
package play

import (
	"cmp"
	"errors"
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

// Setup says what to play.
type Setup struct {
	// Base is the ID of a scenario, or the name of a fault of the matrix or of a workload of package search.
	Base string
	// Design is a design's name. Default: "default", or the scenario's first design if it
	// has no verdict for that.
	Design string
	Seed   uint64
	// Schedule replaces the base's own faults, unless it is nil. An empty one is a run
	// without faults. Then there is no expectation.
	Schedule simulation.Schedule
}

// Run is a run and its result. Its Setup has the base's and the design's names in full.
type Run struct {
	Setup
	Title string
	// Faults are those that were played.
	Faults simulation.Schedule
	// Expected is the expected result in words. Unexpected is nil if the run ended like that.
	Expected   string
	Unexpected error
	Result     simulation.Result
}

// Anything is the expectation if there is none.
const Anything = "anything"

// Play plays a run. Errors Are simulation.ErrConfig, or name an unknown base or design with those
// that exist.
func Play(setup Setup) (Run, error) {
	run := Run{Setup: setup, Expected: Anything}
	s, noScenario := scenarios.ByID(setup.Base)
	f, noFault := cells.ByName(setup.Base)
	w, noWorkload := search.ByName(setup.Base)
	if noScenario != nil && noFault != nil && noWorkload != nil {
		return run, errors.Join(noScenario, noFault, noWorkload)
	}
	d, err := designs.ByName(cmp.Or(setup.Design, "default"))
	if noScenario == nil {
		d, err = designOf(s, setup.Design)
	}
	if err != nil {
		return run, err
	}
	run.Design = d.Name
	var cfg simulation.Config
	var work simulation.Workload
	check := func(simulation.Result) error { return nil }
	switch {
	case noScenario == nil:
		run.Base, run.Title = s.ID, s.Title
		cfg, run.Faults, work = s.Setting(d)
		if verdict, ok := s.Verdicts[d.Name]; ok {
			run.Expected = verdict.String()
			check = func(r simulation.Result) error { return s.Check(r, d) }
		}
	case noFault == nil:
		run.Base, run.Title = f.Name, f.Title
		cfg, run.Faults, work = f.Setting(setup.Seed, d)
		if want, ok := cells.ExpectationOf(f.Name, d.Name); ok {
			run.Expected = want.String()
			check = func(r simulation.Result) error { return want.Check(r, d) }
		}
	default: // it has no faults of its own: the command explore draws them
		run.Base, run.Title = w.Name, w.Title
		cfg, work = d.Configure(w.Base), w.Work
	}
	// What is expected, and when the lock has to be free, follows from the base's own faults.
	own := setup.Schedule == nil
	if !own {
		run.Faults, run.Expected = slices.Clone(setup.Schedule), Anything
	}
	if run.Result, err = simulation.Run(setup.Seed, cfg, run.Faults, work); err != nil || !own {
		return run, err
	}
	if noScenario == nil {
		run.Result = s.Judge(run.Result)
	}
	run.Unexpected = check(run.Result)
	return run, nil
}

// designOf returns a scenario's design. Scenarios have no verdict for registered designs, and are played with
// these nevertheless.
func designOf(s scenarios.Scenario, name string) (designs.Design, error) {
	if yours, err := designs.ByName(name); err == nil && yours.Group == designs.Yours {
		return yours, nil
	}
	if _, ok := s.Verdicts["default"]; !ok {
		name = cmp.Or(name, s.Designs()[0].Name)
	}
	return s.Design(cmp.Or(name, "default"))
}

// Found returns the kinds of violations of a run in words, or "none".
func Found(r simulation.Result) string { return scenarios.Verdict{Kinds: r.Kinds()}.String() }
