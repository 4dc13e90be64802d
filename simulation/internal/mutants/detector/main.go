// Command detector runs scenarios and searches until one of them finds a violation.
// Package mutants builds it with a mutant and sends it a list of mutants.Detector on its
// standard input. It writes a mutants.Detection.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/mutants"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

func main() {
	// A run is sequential. A second processor only adds switches.
	runtime.GOMAXPROCS(1)
	var detectors []mutants.Detector
	var d detector
	err := json.NewDecoder(os.Stdin).Decode(&detectors)
	if err == nil {
		err = d.run(detectors)
	}
	if err != nil {
		d.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(d.Detection); err != nil {
		fmt.Fprintln(os.Stderr, "detector:", err)
		os.Exit(1)
	}
}

type detector struct{ mutants.Detection }

// seeds is the number of seeds for each scenario. Nearly every scenario ends the same way
// with any seed.
const seeds = 4

// run runs detectors until one finds a violation.
func (d *detector) run(detectors []mutants.Detector) error {
	for _, one := range detectors {
		everything, known := one == mutants.Detector{}, false
		for _, s := range all() {
			if everything || s.ID == one.Scenario {
				known = true
				if err := d.play(s); err != nil || d.By != "" {
					return err
				}
			}
		}
		for _, s := range mutants.Searches() {
			if everything || s.Name == one.Search {
				known = true
				if err := d.search(s); err != nil || d.By != "" {
					return err
				}
			}
		}
		if one.Walk != "" {
			known = true
			if err := d.walk(one.Walk); err != nil || d.By != "" {
				return err
			}
		}
		if !known {
			return fmt.Errorf("no scenario, search or walk %q", one)
		}
	}
	return nil
}

// all returns every scenario, those for mutants, and every value of every sweep.
func all() []scenarios.Scenario {
	list := append(scenarios.All(), scenarios.ForMutants()...)
	for _, sweep := range scenarios.Sweeps() {
		for _, value := range sweep.Values {
			list = append(list, sweep.At(value))
		}
	}
	return list
}

// play runs a scenario with each of its designs, those that use the library first.
func (d *detector) play(s scenarios.Scenario) error {
	for _, design := range libraryFirst(s.Designs()) {
		for seed := range uint64(seeds) {
			r, err := s.Play(seed, design)
			if err != nil {
				return err
			}
			d.Runs++
			if err := s.Check(r, design); err != nil {
				d.caught(fmt.Sprintf("%s with %s, seed %d", s.ID, design.Name, seed), strings.TrimPrefix(err.Error(), scenarios.ErrUnexpected.Error()+": "+s.ID+" with "+design.Name+": "))
				return nil
			}
		}
	}
	return nil
}

// libraryFirst sorts designs by how likely they show a mistake of the library: those that
// use all of it, those that use parts, all others.
func libraryFirst(list []designs.Design) []designs.Design {
	var whole, part, others []designs.Design
	for _, d := range list {
		switch {
		case d.Name == "default" || d.Name == "token-admit":
			whole = append(whole, d)
		case d.Group == designs.Redlock || d.Group == "":
			part = append(part, d)
		default:
			others = append(others, d)
		}
	}
	return append(append(whole, part...), others...)
}

// chunk is the number of seeds that a search runs at a time.
const chunk = 25

func (d *detector) search(s mutants.Search) error {
	registry := search.Registry{Workloads: search.Workloads(), Designs: designs.All()}
	space := search.Space{Setup: search.Setup{Workload: s.Workload, Design: s.Design}, How: search.Draw}
	for _, kind := range s.Faults {
		space.Faults = append(space.Faults, fault.Kind(kind))
	}
	except := map[string]bool{}
	for _, kind := range s.Except {
		except[kind] = true
	}
	for from := uint64(0); from < s.Seeds; from += chunk {
		report, err := search.Search(context.Background(), registry, space, search.Options{From: from, To: min(from+chunk, s.Seeds)})
		if err != nil {
			return err
		}
		first := search.Finding{First: s.Seeds}
		for _, f := range report.Findings {
			if !except[string(f.Kind)] && f.First < first.First {
				first = f
			}
		}
		if first.First < s.Seeds {
			d.Runs += int(first.First - from + 1)
			d.caught(fmt.Sprintf("search %s (%s), seed %d", s.Name, s.Design, first.First), fmt.Sprintf("%s: %s", first.Kind, first.Text))
			return nil
		}
		d.Runs += int(report.Runs)
	}
	return nil
}

// most is how many orders of a walk are played.
const most = 5_000

// walk plays all orders of a small world, and then random ones to compare. It ignores violations that
// an assumption excuses.
func (d *detector) walk(words string) error {
	registry := search.Registry{Workloads: orders.Worlds(), Designs: designs.All()}
	plan, err := orders.Small(words)
	if err != nil {
		return err
	}
	var says string
	shows := func(s search.Setup, result simulation.Result) bool {
		v, found := orders.Unexcused(registry, s, result)
		if found {
			says = cmp.Or(says, fmt.Sprintf("%s: %s", v.Kind, v.Text))
		}
		return found
	}
	h, err := plan.Hunt(registry, shows, most)
	if h.Found {
		d.caught("walk "+words, says)
	}
	d.Runs, d.Drawn = d.Runs+int(h.Walked), int(h.Drawn)
	return err
}

func (d *detector) caught(by, says string) { d.By, d.Says = by, says }
