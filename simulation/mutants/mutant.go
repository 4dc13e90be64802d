package mutants

import (
	"errors"
	"fmt"
	"strings"
)

// Mutant is the library with one mistake.
type Mutant struct {
	// Name is short and unique: letters, digits and dashes.
	Name string
	// Breaks is what doesn't hold any more, in words.
	Breaks string
	// Edits make it of the source. More than one where one mistake takes several
	// lines.
	Edits []Edit
	// Judge is who is expected to catch it.
	Judge Judge
	// Also are scenarios and searches that are expected to catch it as well, each by
	// itself.
	Also []Judge
}

// Edit replaces a text, which must be there exactly once.
type Edit struct {
	// File is a path in the module, with slashes.
	File string
	// Old is what is replaced by New.
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
	// more: the text that it replaces isn't there, or is there more than once.
	ErrStale = errors.New("mutants: stale")
	// ErrUnknown is wrapped by the error for a name that no mutant has.
	ErrUnknown = errors.New("mutants: unknown")
	// ErrSource is wrapped by the error for a place without the module's source, or
	// without the go tool.
	ErrSource = errors.New("mutants: nothing to break")
)

// apply makes the edit in a file's text.
func (e Edit) apply(text string) (string, error) {
	switch n := strings.Count(text, e.Old); {
	case e.Old == "":
		return "", fmt.Errorf("%w: %s: an edit of no text", ErrStale, e.File)
	case e.Old == e.New:
		return "", fmt.Errorf("%w: %s: an edit that changes nothing: %q", ErrStale, e.File, e.Old)
	case n != 1:
		return "", fmt.Errorf("%w: %s has %d times what is to be replaced there, want it once: %q", ErrStale, e.File, n, e.Old)
	}
	return strings.Replace(text, e.Old, e.padded(), 1), nil
}

// padded is New with as many lines as Old where it has fewer, if lines can be added: what
// stands behind it keeps its place, which relink needs.
func (e Edit) padded() string {
	fewer := strings.Count(e.Old, "\n") - strings.Count(e.New, "\n")
	if fewer <= 0 || !strings.HasSuffix(e.Old, "\n") || e.New != "" && !strings.HasSuffix(e.New, "\n") {
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
