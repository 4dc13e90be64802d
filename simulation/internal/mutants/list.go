package mutants

import (
	_ "embed" // for the list
	"fmt"
	"strings"
	"sync"
)

//go:embed mutants.txt
var patches string

// All returns every mutant, in the order in which to read their guarantees.
var All = sync.OnceValue(func() []mutant {
	all, err := parse(patches)
	if err != nil {
		panic("mutants.txt: " + err.Error()) // a test parses it
	}
	return all
})

// parse reads a list of mutants:
//
//	# Title of a group: its guarantee
//
//	name: package pattern of its tests
//	@ marker
//	-text in the line below the marker
//	+text in its place
func parse(text string) (all []mutant, err error) {
	inMutant, last := &mutant{}, &edit{}
	for i, line := range strings.Split(text, "\n") {
		name, rest, _ := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "# "):
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
			all = append(all, mutant{Name: name, Detector: Detector{Package: pkg, Test: test}})
			inMutant = &all[len(all)-1]
		}
	}
	return all, nil
}

func addLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}
