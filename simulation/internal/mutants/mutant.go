package mutants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mutant is the library with one mistake. It breaks the guarantee that the marker of its
// first edit states.
type mutant struct {
	// Name is short and unique: letters, digits and dashes.
	Name string
	// Edits change the source. There are several if one mistake takes several lines.
	Edits []edit
	// Detector is expected to catch it.
	Detector Detector
	// Also are detectors that must each catch it as well.
	Also []Detector
}

// Markers returns the names of the markers whose lines it changes, each once.
func (m mutant) Markers() []string {
	var names []string
	for _, e := range m.Edits {
		if !slices.Contains(names, e.Marker) {
			names = append(names, e.Marker)
		}
	}
	return names
}

// edit replaces text in the line below a marker.
type edit struct {
	// Marker is the name of a Marker.
	Marker string
	// Old is replaced by New. It begins exactly once in the line below the marker, and
	// may extend into the following lines.
	Old, New string
}

// Detector is a check that can catch a mutant. One of Scenario, Search, Walk and Test is set, or
// none for all scenarios and searches.
type Detector struct {
	// Scenario is a scenario's ID, or a sweep's ID, a slash and a value.
	Scenario string
	// Search is the name of one of Searches.
	Search string
	// Walk is a walk through all orders of a small world of package orders, with two clients:
	// the world, the number of servers, and kinds of faults, if there are any (orders.Small).
	Walk string
	// Package is a package's path in the module ("./quorum"). Test is the pattern of
	// the tests to run, as in go test -run.
	Package, Test string
}

// everything is all scenarios and searches.
var everything = Detector{}

// Detection is what detectors found. The program in the folder detector writes it to its
// standard output, as JSON.
type Detection struct {
	// By names the scenario or search that found a violation, with the design and the
	// seed, or the failed test; "" if there is none.
	By string `json:"by"`
	// Says describes the violation.
	Says string `json:"says"`
	// Runs counts the runs up to that point.
	Runs int `json:"runs"`
	// Drawn is the number of random orders that it took to find a violation, if the walk
	// through all orders found one. 0: as many as the walk may take weren't enough.
	Drawn int `json:"drawn,omitempty"`
	// Error says why a detector failed.
	Error string `json:"error,omitempty"`
}

// String returns the name used in tables.
func (d Detector) String() string {
	switch {
	case d.Scenario != "":
		return d.Scenario
	case d.Search != "":
		return "search " + d.Search
	case d.Walk != "":
		return "walk " + d.Walk
	case d.Test != "":
		return strings.NewReplacer("^", "", "$", "", "|", ", ").Replace(d.Test)
	default:
		return d.Package
	}
}

// simulated reports whether the program in the folder detector runs it.
func (d Detector) simulated() bool { return d.Package == "" }

var (
	// errStale: a mutant no longer fits the source, because its marker or the text that
	// it replaces is gone.
	errStale = errors.New("mutants: stale")
	// errUnknown: no mutant has the given name.
	errUnknown = errors.New("mutants: unknown")
	// ErrSource: the module's source or the go tool was not found.
	ErrSource = errors.New("mutants: no source")
)

// apply makes the edit in the text of the marker's file.
func (e edit) apply(text string) (string, error) {
	begin, end, found := guarded(text, e.Marker)
	at, n := 0, 0
	for i := begin; i < end; i++ {
		if strings.HasPrefix(text[i:], e.Old) {
			at, n = i, n+1
		}
	}
	switch {
	case !found:
		return "", fmt.Errorf("%w: there is no marker %q", errStale, e.Marker)
	case e.Old == "":
		return "", fmt.Errorf("%w: %s: empty Old", errStale, e.Marker)
	case e.Old == e.New:
		return "", fmt.Errorf("%w: %s: Old equals New: %q", errStale, e.Marker, e.Old)
	case n != 1:
		return "", fmt.Errorf("%w: the line below %s is %q, and %q begins %d times in it, want once", errStale, e.Marker, strings.TrimSpace(text[begin:end]), e.Old, n)
	}
	behind := text[at+len(e.Old):]
	return text[:at] + e.padded(behind) + behind, nil
}

// padded returns New with at least as many lines as Old, if lines can be added, so that
// the code after it keeps its line numbers. relink needs that.
func (e edit) padded(behind string) string {
	fewer := strings.Count(e.Old, "\n") - strings.Count(e.New, "\n")
	if fewer <= 0 || !strings.HasSuffix(e.Old, "\n") && !strings.HasPrefix(behind, "\n") {
		return e.New
	}
	return e.New + strings.Repeat("\n", fewer)
}

// Select returns the named mutants in the list's order, or all of them without names. The
// error Is errUnknown and lists the known names.
func Select(names ...string) ([]mutant, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var chosen []mutant
	known := make([]string, len(all))
	for i, m := range all {
		if known[i] = m.Name; wanted[m.Name] {
			chosen = append(chosen, m)
			delete(wanted, m.Name)
		}
	}
	for _, name := range names {
		if wanted[name] {
			return nil, fmt.Errorf("%w: no mutant %q; there are %s", errUnknown, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
