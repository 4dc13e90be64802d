// Command trial plays scenarios and searches until one of them ends as it must not.
// It is what a mutant is built into: package mutants starts it, and tells it by its
// standard input what to play.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/mutants"
	"github.com/redquorum/redlock/simulation/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

func main() {
	// A run is one chain of events. A second processor only passes them around.
	runtime.GOMAXPROCS(1)
	var order mutants.Order
	t := trial{}
	err := json.NewDecoder(os.Stdin).Decode(&order)
	if err == nil {
		err = t.carryOut(order)
	}
	if err != nil {
		t.verdict.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(t.verdict); err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

// trial is one order on its way.
type trial struct {
	verdict mutants.Verdict
	// played are the judges that have been heard.
	played map[mutants.Judge]bool
}

// seeds is how many seeds a scenario is played with: nearly all of them end the same
// way whatever the seed.
const seeds = 4

func (t *trial) carryOut(order mutants.Order) error {
	stories := map[string]scenarios.Scenario{}
	searches := map[string]mutants.Search{}
	judges := order.First
	for _, s := range all() {
		stories[s.ID] = s
		if order.Rest {
			judges = append(judges, mutants.Judge{Scenario: s.ID})
		}
	}
	for _, s := range order.Searches {
		searches[s.Name] = s
		if order.Rest {
			judges = append(judges, mutants.Judge{Search: s.Name})
		}
	}
	t.played = map[mutants.Judge]bool{}
	for _, j := range judges {
		if t.played[j] {
			continue
		}
		t.played[j] = true
		story, isStory := stories[j.Scenario]
		space, isSearch := searches[j.Search]
		var err error
		switch {
		case isStory:
			err = t.play(story)
		case isSearch:
			err = t.search(space)
		default:
			err = fmt.Errorf("there is no scenario and no search %q", j)
		}
		if err != nil || t.verdict.By != "" {
			return err
		}
	}
	return nil
}

// all is every scenario, the stories, and every value of every sweep.
func all() []scenarios.Scenario {
	list := append(scenarios.All(), stories()...)
	for _, sweep := range scenarios.Sweeps() {
		for _, value := range sweep.Values {
			list = append(list, sweep.At(value))
		}
	}
	return list
}

// play plays a scenario with every design that it has a verdict for; first with those
// that run the library.
func (t *trial) play(s scenarios.Scenario) error {
	for _, d := range librarysFirst(s.Designs()) {
		for seed := range uint64(seeds) {
			r, err := s.Play(seed, d)
			if err != nil {
				return err
			}
			t.verdict.Runs++
			if err := s.Check(r, d); err != nil {
				t.caught(fmt.Sprintf("%s with %s, seed %d", s.ID, d.Name, seed), strings.TrimPrefix(err.Error(), scenarios.ErrUnexpected.Error()+": "+s.ID+" with "+d.Name+": "))
				return nil
			}
		}
	}
	return nil
}

// librarysFirst puts designs in the order in which they are likely to show a mistake
// of the library: those that have all of it, those that have parts, all others.
func librarysFirst(list []designs.Design) []designs.Design {
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

// chunk is how many seeds of a search are played at a time.
const chunk = 25

// search plays a search.
func (t *trial) search(s mutants.Search) error {
	space := search.Space{Setup: search.Setup{Workload: s.Workload, Design: s.Design}, How: search.Draw}
	for _, kind := range s.Faults {
		space.Faults = append(space.Faults, simulation.Kind(kind))
	}
	except := map[string]bool{}
	for _, kind := range s.Except {
		except[kind] = true
	}
	for from := uint64(0); from < s.Seeds; from += chunk {
		report, err := search.Search(context.Background(), registry(), space, search.Options{From: from, To: min(from+chunk, s.Seeds)})
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
			t.verdict.Runs += int(first.First - from + 1)
			t.caught(fmt.Sprintf("search %s (%s), seed %d", s.Name, s.Design, first.First), fmt.Sprintf("%s: %s", first.Kind, first.Text))
			return nil
		}
		t.verdict.Runs += int(report.Runs)
	}
	return nil
}

func (t *trial) caught(by, says string) { t.verdict.By, t.verdict.Says = by, says }

// registry is what a search can name.
func registry() search.Registry {
	r := search.Registry{Workloads: search.Workloads()}
	for _, d := range designs.All() {
		r.Designs = append(r.Designs, search.Design{Name: d.Name, Title: d.Title, Apply: d.Apply})
	}
	return r
}
