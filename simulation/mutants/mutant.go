package mutants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mutant is the library with one mistake. What doesn't hold any more is what the marker of
// its first edit says.
type Mutant struct {
	// Name is short and unique: letters, digits and dashes.
	Name string
	// Edits make it of the source. More than one where one mistake takes several
	// lines.
	Edits []Edit
	// Judge is who is expected to catch it.
	Judge Judge
	// Also are scenarios and searches that are expected to catch it as well, each by
	// itself.
	Also []Judge
}

// Markers are the names of the markers whose lines it changes, each once.
func (m Mutant) Markers() []string {
	var names []string
	for _, e := range m.Edits {
		if !slices.Contains(names, e.Marker) {
			names = append(names, e.Marker)
		}
	}
	return names
}

// Edit replaces a text in the line below a marker.
type Edit struct {
	// Marker is the name of a Marker.
	Marker string
	// Old is replaced by New. It begins in the line below the marker, exactly once, and
	// may go on into the lines behind it.
	Old, New string
}

// Judge is one who can catch a mutant: one of Scenario, Search and Test is set.
type Judge struct {
	// Scenario is a scenario's ID, or a sweep's with a value behind a slash.
	Scenario string
	// Search is the name of one of Searches.
	Search string
	// Package is a package's path in the module ("./quorum"), and Test the pattern
	// of its tests that are run, as in go test -run.
	Package, Test string
}

// String is what tables call it.
func (j Judge) String() string {
	switch {
	case j.Scenario != "":
		return j.Scenario
	case j.Search != "":
		return "search " + j.Search
	case j.Test != "":
		return strings.NewReplacer("^", "", "$", "", "|", ", ").Replace(j.Test)
	default:
		return j.Package
	}
}

// plays reports whether the judge is the program in the folder trial.
func (j Judge) plays() bool { return j.Scenario != "" || j.Search != "" }

var (
	// ErrStale is wrapped by the error for a mutant that doesn't fit the source any
	// more: its marker isn't there, or not the text that it replaces below it.
	ErrStale = errors.New("mutants: stale")
	// ErrUnknown is wrapped by the error for a name that no mutant has.
	ErrUnknown = errors.New("mutants: unknown")
	// ErrSource is wrapped by the error for a place without the module's source, or
	// without the go tool.
	ErrSource = errors.New("mutants: nothing to break")
)

// apply makes the edit in the text of the marker's file.
func (e Edit) apply(text string) (string, error) {
	begin, end, found := guarded(text, e.Marker)
	at, n := 0, 0
	for i := begin; i < end; i++ {
		if strings.HasPrefix(text[i:], e.Old) {
			at, n = i, n+1
		}
	}
	switch {
	case !found:
		return "", fmt.Errorf("%w: there is no marker %q", ErrStale, e.Marker)
	case e.Old == "":
		return "", fmt.Errorf("%w: %s: an edit of no text", ErrStale, e.Marker)
	case e.Old == e.New:
		return "", fmt.Errorf("%w: %s: an edit that changes nothing: %q", ErrStale, e.Marker, e.Old)
	case n != 1:
		return "", fmt.Errorf("%w: the line below %s is %q, in which %q begins %d times, want once", ErrStale, e.Marker, strings.TrimSpace(text[begin:end]), e.Old, n)
	}
	behind := text[at+len(e.Old):]
	return text[:at] + e.padded(behind) + behind, nil
}

// padded is New with as many lines as Old where it has fewer, if lines can be added: what
// stands behind it keeps its place, which relink needs.
func (e Edit) padded(behind string) string {
	fewer := strings.Count(e.Old, "\n") - strings.Count(e.New, "\n")
	if fewer <= 0 || !strings.HasSuffix(e.Old, "\n") && !strings.HasPrefix(behind, "\n") {
		return e.New
	}
	return e.New + strings.Repeat("\n", fewer)
}

// Select gives the mutants of those names, in the list's order, or all if there are
// none. The error Is ErrUnknown, and lists the names.
func Select(names ...string) ([]Mutant, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var chosen []Mutant
	known := make([]string, len(all))
	for i, m := range all {
		if known[i] = m.Name; wanted[m.Name] {
			chosen = append(chosen, m)
			delete(wanted, m.Name)
		}
	}
	for _, name := range names {
		if wanted[name] {
			return nil, fmt.Errorf("%w: no mutant %q; there are %s", ErrUnknown, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
