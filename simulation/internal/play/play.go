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

// anything is the expectation if there is none.
const anything = "anything"

// place is where a run is played: a base with a design.
type place struct {
	own         base
	name, title string
	design      designs.Design
	// expected is the expected result in words, and check compares.
	expected string
	check    func(simulation.Result) error
	// setting is the configuration and the base's own faults for a seed.
	setting func(seed uint64) (simulation.Config, simulation.Schedule)
}

// placeOf looks up a base and a design. Errors name an unknown one with those that exist.
func placeOf(name, design string) (p place, err error) {
	s, noScenario := scenarios.ByID(name)
	f, noFault := cells.ByName(name)
	w, noWorkload := search.ByName(name)
	p.expected, p.check = anything, func(simulation.Result) error { return nil }
	switch {
	case noScenario == nil:
		p.own, p.name, p.title = s, s.ID, s.Title
		if p.design, p.expected, err = ofScenario(s, design); err != nil {
			return p, err
		}
		if p.expected != anything {
			p.check = func(r simulation.Result) error { return s.Check(r, p.design) }
		}
		p.setting = func(uint64) (simulation.Config, simulation.Schedule) { return s.Setting(p.design) }
	case noFault == nil:
		p.own, p.name, p.title = f, f.Name, f.Title
		if p.design, err = designs.ByName(cmp.Or(design, "default")); err != nil {
			return p, err
		}
		if want, ok := cells.ExpectationOf(f.Name, p.design.Name); ok {
			p.expected = want.String()
			p.check = func(r simulation.Result) error { return want.Check(r, p.design) }
		}
		p.setting = func(seed uint64) (simulation.Config, simulation.Schedule) { return f.Setting(seed, p.design) }
	case noWorkload == nil:
		p.own, p.name, p.title = workload{w}, w.Name, w.Title
		if p.design, err = designs.ByName(cmp.Or(design, "default")); err != nil {
			return p, err
		}
		p.setting = func(uint64) (simulation.Config, simulation.Schedule) { return p.design.Configure(w.Base), nil }
	default:
		return p, errors.Join(noScenario, noFault, noWorkload)
	}
	return p, nil
}

// Play plays a run. Errors Are simulation.ErrConfig, or name an unknown base or design with those
// that exist.
func Play(setup Setup) (run Run, err error) {
	p, err := placeOf(setup.Base, setup.Design)
	run = Run{Name: p.name, Title: p.title, Design: p.design, Seed: setup.Seed, Expected: p.expected}
	if err != nil {
		return run, err
	}
	if setup.Schedule != nil {
		run.Schedule, run.Expected = slices.Clone(setup.Schedule), anything
		run.Result, err = p.own.PlaySchedule(run.Seed, run.Design, run.Schedule)
		return run, err
	}
	_, run.Schedule = p.setting(run.Seed)
	run.Result, err = p.own.Play(run.Seed, run.Design)
	if err == nil {
		run.Unexpected = p.check(run.Result)
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
		return yours, anything, nil
	}
	d, err := s.Design(cmp.Or(name, "default"))
	return d, s.Verdicts[d.Name].String(), err
}

// Found returns the kinds of violations of a run in words, or "none".
func Found(r simulation.Result) string { return scenarios.Verdict{Kinds: r.Kinds()}.String() }
