package mutants

import (
	_ "embed" // for the list
	"fmt"
	"strings"
	"sync"
)

//go:embed mutants.txt
var patches string

// group has the mutants of one kind of guarantee.
type group struct {
	// Title names the kind, and Intro is a sentence that states it.
	Title, Intro string
	Mutants      []mutant
}

// Groups returns all mutants, in the order in which to read their guarantees.
var Groups = sync.OnceValue(func() []group {
	groups, err := parse(patches)
	if err != nil {
		panic("mutants.txt: " + err.Error()) // a test parses it
	}
	return groups
})

// All returns every mutant.
func All() []mutant {
	var all []mutant
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
func parse(text string) (groups []group, err error) {
	inGroup, inMutant, last := &group{}, &mutant{}, &edit{}
	for i, line := range strings.Split(text, "\n") {
		name, rest, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "# "):
			groups = append(groups, group{Title: name[2:], Intro: rest})
			inGroup = &groups[len(groups)-1]
		case strings.HasPrefix(line, "@ "):
			inMutant.Edits = append(inMutant.Edits, edit{Marker: line[2:]})
			last = &inMutant.Edits[len(inMutant.Edits)-1]
		case line[0] == '-':
			last.Old = addLine(last.Old, line[1:])
		case line[0] == '+':
			last.New = addLine(last.New, line[1:])
		default:
			d, err := parseDetector(rest)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if name == "also" {
				inMutant.Also = append(inMutant.Also, d)
				continue
			}
			inGroup.Mutants = append(inGroup.Mutants, mutant{Name: name, Detector: d})
			inMutant = &inGroup.Mutants[len(inGroup.Mutants)-1]
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
	case "walk":
		d.Walk = name
	case "test":
		d.Package, d.Test, _ = strings.Cut(name, " ")
	default:
		err = fmt.Errorf("%q is no detector, want a scenario, a search, a walk or a test", words)
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
		// Leaders that are late, lost or paused, and jobs that several processes come for.
		{Name: "terms", Workload: "terms", Design: "token-admit", Faults: []string{"pause", "crash", "reboot", "restart", "hang", "cut", "lose", "step"}, Seeds: n / 4},
		{Name: "slots", Workload: "slots", Design: "default", Faults: []string{"pause", "crash", "reboot", "restart", "hang", "cut", "lose"}, Seeds: n / 4},
		// Leases on several keys, which overlap.
		{Name: "sets", Workload: "sets", Design: "token-admit", Faults: []string{"pause", "crash", "reboot", "restart", "hang", "cut", "lose", "reorder", "reconnect", "step"}, Seeds: n / 2},
		{Name: "between", Workload: "relay", Design: "default", Faults: []string{"proxy", "switch", "demote", "restart", "failover", "reconnect", "hang"}, Except: []string{"validity beyond reality"}, Seeds: n / 2},
	}
}
