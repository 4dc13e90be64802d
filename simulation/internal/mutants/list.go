package mutants

import (
	_ "embed" // for the list
	"fmt"
	"strings"
	"sync"
)

//go:embed mutants.txt
var patches string

// Group has the mutants of one kind of guarantee.
type Group struct {
	// Title names the kind, and Intro is a sentence that states it.
	Title, Intro string
	Mutants      []Mutant
}

// Groups returns all mutants, in the order in which to read their guarantees.
var Groups = sync.OnceValue(func() []Group {
	groups, err := parse(patches)
	if err != nil {
		panic("mutants.txt: " + err.Error()) // a test parses it
	}
	return groups
})

// All returns every mutant.
func All() []Mutant {
	var all []Mutant
	for _, g := range Groups() {
		all = append(all, g.Mutants...)
	}
	return all
}

// parse reads a list of mutants:
//
//	# Title of a group: its guarantee
//
//	name: expected detector
//	also: another detector
//	@ marker
//	-text in the line below the marker
//	+text in its place
func parse(text string) (groups []Group, err error) {
	group, mutant, edit := &Group{}, &Mutant{}, &Edit{}
	for i, line := range strings.Split(text, "\n") {
		name, rest, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "# "):
			groups = append(groups, Group{Title: name[2:], Intro: rest})
			group = &groups[len(groups)-1]
		case strings.HasPrefix(line, "@ "):
			mutant.Edits = append(mutant.Edits, Edit{Marker: line[2:]})
			edit = &mutant.Edits[len(mutant.Edits)-1]
		case line[0] == '-':
			edit.Old = addLine(edit.Old, line[1:])
		case line[0] == '+':
			edit.New = addLine(edit.New, line[1:])
		default:
			d, err := parseDetector(rest)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if name == "also" {
				mutant.Also = append(mutant.Also, d)
				continue
			}
			group.Mutants = append(group.Mutants, Mutant{Name: name, Detector: d})
			mutant = &group.Mutants[len(group.Mutants)-1]
		}
	}
	return groups, nil
}

func addLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

func parseDetector(words string) (d Detector, err error) {
	kind, name, _ := strings.Cut(words, " ")
	switch kind {
	case "scenario":
		d.Scenario = name
	case "search":
		d.Search = name
	case "test":
		d.Package, d.Test, _ = strings.Cut(name, " ")
	default:
		err = fmt.Errorf("%q is no detector, want a scenario, a search or a test", words)
	}
	return d, err
}

// Search runs many random schedules of faults under which a design must not show any
// violation, except those of the kinds in Except.
type Search struct {
	Name string
	// Workload is the name of one of search.Workloads.
	Workload string
	Design   string
	// Faults are the kinds of faults in the schedules.
	Faults []string
	// Except are the kinds of violations that are allowed.
	Except []string
	// Seeds is the number of seeds, from 0.
	Seeds uint64
}

// Searches returns the searches with random faults. The designs withstand these faults.
// Package matrix has the faults that break them.
func Searches() []Search {
	const n = 600
	return []Search{
		{Name: "messages", Workload: "mixed", Design: "default", Faults: []string{"cut", "lose", "reorder", "reconnect"}, Seeds: n},
		{Name: "servers", Workload: "mixed", Design: "default", Faults: []string{"hang", "restart", "failover", "crash", "reboot"}, Seeds: n},
		{Name: "clocks", Workload: "mixed", Design: "token-admit", Faults: []string{"pause", "step", "hang"}, Seeds: n},
		{Name: "pauses", Workload: "mixed", Design: "token-admit", Faults: []string{"pause", "crash", "cut"}, Seeds: n},
		// Dropped keys can cause two holders, but tokens keep their order.
		{Name: "memory", Workload: "mixed", Design: "token-admit", Faults: []string{"evict", "flush", "cut"}, Except: []string{"two holders", "validity beyond reality"}, Seeds: n},
		{Name: "cohorts", Workload: "crowd", Design: "token-admit", Faults: []string{"crash", "reboot", "pause", "hang", "restart", "cut", "lose", "step"}, Seeds: n / 4},
		// Handles are late, lost, repeated or sent to two receivers.
		{Name: "relay", Workload: "relay", Design: "token-admit", Faults: []string{"crash", "reboot", "pause", "hang", "restart", "proxy", "cut", "lose", "reorder", "delay"}, Seeds: n / 2},
		// Restarts that only the server reports. A vote lost during its round counts one
		// less, as in S7d.
		{Name: "between", Workload: "relay", Design: "default", Faults: []string{"proxy", "switch", "demote", "restart", "failover", "reconnect", "hang"}, Except: []string{"validity beyond reality"}, Seeds: n / 2},
	}
}
