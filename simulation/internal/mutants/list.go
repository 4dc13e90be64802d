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
//	name: package pattern of its tests
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
			pkg, test, ok := strings.Cut(rest, " ")
			if !ok || !strings.HasPrefix(pkg, "./") {
				return nil, fmt.Errorf("line %d: %q is no detector, want a package and a pattern of its tests", i+1, rest)
			}
			d := Detector{Package: pkg, Test: test}
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
