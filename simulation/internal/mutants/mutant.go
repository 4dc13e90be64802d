package mutants

import (
	_ "embed" // for the list
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// mutant is the library with one mistake. It breaks the guarantee that the marker of its
// first edit states.
type mutant struct {
	// Name is short and unique: letters, digits and dashes.
	Name string
	// Edits change the source. There are several if one mistake takes several lines.
	Edits []edit
	// Detector has to catch it.
	Detector Detector
}

// edit replaces text in the line below a marker.
type edit struct {
	// Marker is the name of a Marker.
	Marker string
	// Old is replaced by New. It begins exactly once in the line below the marker, and
	// may extend into the following lines.
	Old, New string
}

// Detector is a package's test that can catch a mutant.
type Detector struct {
	// Package is a package's path in the module ("./quorum"). Test is the pattern of
	// the tests to run, as in go test -run.
	Package, Test string
}

// errUnknown: no mutant has the given name.
var errUnknown = errors.New("mutants: unknown")

// Select returns the named mutants in the list's order, or all of them without names. The
// error Is errUnknown and lists the known names.
func Select(names ...string) ([]mutant, error) {
	if len(names) == 0 {
		return All(), nil
	}
	var chosen []mutant
	var known []string
	for _, m := range All() {
		known = append(known, m.Name)
		if slices.Contains(names, m.Name) {
			chosen = append(chosen, m)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: no mutant %q; there are %s", errUnknown, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

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
