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

// Run is a run and its result.
type Run struct {
	// Name is the base's, and Title what it is about.
	Name, Title string
	Design      designs.Design
	Seed        uint64
	// Schedule is the faults that were played.
	Schedule simulation.Schedule
	// Expected is the expected result in words. Unexpected is nil if the run ended like that.
	Expected   string
	Unexpected error
	Result     simulation.Result
}

// base is a scenario, a fault or a workload.
type base interface {
	Play(uint64, designs.Design) (simulation.Result, error)
	PlaySchedule(uint64, designs.Design, simulation.Schedule) (simulation.Result, error)
}

// Anything is the expectation if there is none.
const Anything = "anything"

// Play plays a run. Errors Are simulation.ErrConfig, or name an unknown base or design with those
// that exist.
func Play(setup Setup) (run Run, err error) {
	run = Run{Seed: setup.Seed, Schedule: slices.Clone(setup.Schedule), Expected: Anything}
	s, noScenario := scenarios.ByID(setup.Base)
	f, noFault := cells.ByName(setup.Base)
	w, noWorkload := search.ByName(setup.Base)
	var of base
	var own simulation.Schedule
	check := func(simulation.Result) error { return nil }
	switch {
	case noScenario == nil:
		of, run.Name, run.Title = s, s.ID, s.Title
		if run.Design, run.Expected, err = ofScenario(s, setup.Design); err != nil {
			return run, err
		}
		if run.Expected != Anything {
			check = func(r simulation.Result) error { return s.Check(r, run.Design) }
		}
		_, own = s.Setting(run.Design)
	case noFault == nil:
		of, run.Name, run.Title = f, f.Name, f.Title
		if run.Design, err = designs.ByName(cmp.Or(setup.Design, "default")); err != nil {
			return run, err
		}
		if want, ok := cells.ExpectationOf(f.Name, run.Design.Name); ok {
			run.Expected = want.String()
			check = func(r simulation.Result) error { return want.Check(r, run.Design) }
		}
		_, own = f.Setting(setup.Seed, run.Design)
	case noWorkload == nil:
		of, run.Name, run.Title = workload{w}, w.Name, w.Title
		if run.Design, err = designs.ByName(cmp.Or(setup.Design, "default")); err != nil {
			return run, err
		}
	default:
		return run, errors.Join(noScenario, noFault, noWorkload)
	}
	if setup.Schedule != nil {
		run.Expected = Anything
		run.Result, err = of.PlaySchedule(run.Seed, run.Design, run.Schedule)
		return run, err
	}
	run.Schedule = own
	if run.Result, err = of.Play(run.Seed, run.Design); err == nil {
		run.Unexpected = check(run.Result)
	}
	return run, err
}

// ofScenario returns a scenario's design and its verdict in words. Scenarios have no verdict for
// registered designs, and are played with these nevertheless.
func ofScenario(s scenarios.Scenario, name string) (designs.Design, string, error) {
	if _, ok := s.Verdicts["default"]; !ok {
		name = cmp.Or(name, s.Designs()[0].Name)
	}
	if yours, err := designs.ByName(name); err == nil && yours.Group == designs.Yours {
		return yours, Anything, nil
	}
	d, err := s.Design(cmp.Or(name, "default"))
	return d, s.Verdicts[d.Name].String(), err
}

// Found returns the kinds of violations of a run in words, or "none".
func Found(r simulation.Result) string { return scenarios.Verdict{Kinds: r.Kinds()}.String() }
