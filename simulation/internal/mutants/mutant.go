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
	// Detector has to catch it.
	Detector Detector
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

// Detector is a package's test that can catch a mutant.
type Detector struct {
	// Package is a package's path in the module ("./quorum"). Test is the pattern of
	// the tests to run, as in go test -run.
	Package, Test string
}

// String returns the name used in tables.
func (d Detector) String() string {
	return strings.NewReplacer("^", "", "$", "", "|", ", ").Replace(d.Test)
}

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
	return text[:at] + e.New + text[at+len(e.Old):], nil
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
