// Package mutants breaks the library's safety lines one at a time and records which test
// notices. A check that has never failed proves nothing, so each of these mistakes must be
// caught, by the test that is meant to catch it.
//
// A line has a mutant if its loss would hurt a user's data or keep a free lock from callers,
// and no other mutant shows that already. Texts, validation, hooks and metrics have none.
//
// A Marker above each such line is a comment that states the guarantee. A mutant names
// a marker and describes the change to the line below it, see mutants.txt. It changes the body of a function or
// a script, in a copy that the go tool's -overlay puts in the place of the source.
//
// Compiling and linking take longer than nearly every test. So all mutants are in one copy, switched off (see
// switches.go). Each package's test program is built once from that copy, and runs once for each mutant, which an
// environment variable switches on.
//
// TestMutants plays them:
//
//	go test ./simulation/internal/mutants -run TestMutants/late-start -mutants
//	go test ./simulation/internal/mutants -run TestMutants -mutants -v -timeout 1h
//
// A mutant that its test doesn't catch has survived: the test is too weak. The same tests
// also run with all mutants switched off, because a test that always fails would catch
// everything.
package mutants

import (
	_ "embed" // for the list
	"strings"
)

// mutant is the library with one mistake. It breaks the guarantee that the marker of its
// first edit states.
type mutant struct {
	// Name is short and unique: letters, digits and dashes.
	Name string
	// Edits change the source. There are several if one mistake takes several lines.
	Edits []edit
	// Detector has to catch it.
	Detector detector
}

// edit replaces text in the line below a marker.
type edit struct {
	// Marker is the name of a Marker.
	Marker string
	// Old is replaced by New. It begins exactly once in the line below the marker, and
	// may extend into the following lines.
	Old, New string
}

// detector is a package's test that can catch a mutant.
type detector struct {
	// Package is a package's path in the module ("./quorum"). Test is the pattern of
	// the tests to run, as in go test -run.
	Package, Test string
}

//go:embed mutants.txt
var list string

// all returns every mutant, in the order in which to read their guarantees. The list is:
//
//	# Title of a group: its guarantee
//
//	name: package pattern of its tests
//	@ marker
//	-text in the line below the marker
//	+text in its place
func all() (mutants []mutant) {
	inMutant, last := &mutant{}, &edit{}
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
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
			name, rest, _ := strings.Cut(line, ": ")
			pkg, test, _ := strings.Cut(rest, " ")
			mutants = append(mutants, mutant{Name: name, Detector: detector{pkg, test}})
			inMutant = &mutants[len(mutants)-1]
		}
	}
	return mutants
}

func addLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}
