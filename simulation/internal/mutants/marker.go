package mutants

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Marker is a comment directly above a line that upholds a guarantee. It states the
// guarantee:
//
//	//guard:start-before-send  the validity counts from before the first SET
//	start := c.reader.Now()
//
// In Lua it begins with --guard:. Several markers may stand above one line.
type Marker struct {
	// Name is unique in the module: letters, digits and dashes.
	Name string
	// Guarantee is what the line upholds.
	Guarantee string
	// File is the path in the module, with slashes. Line is the number of the guarded
	// line.
	File string
	Line int

	begin, end int // of the guarded line in the file's text
}

// errMarker: a marker is malformed, repeats a name, or is not directly above a line.
var errMarker = errors.New("mutants: bad marker")

var (
	markerLine = regexp.MustCompile(`^\s*(?://|--)\s*guard:`)
	markerText = regexp.MustCompile(`^\s*(?://|--)guard:([a-z0-9]+(?:-[a-z0-9]+)*)  (\S.*)$`)
	comment    = regexp.MustCompile(`^\s*(?://|--|$)`)
)

// markersIn returns the markers of a file.
func markersIn(file, text string) ([]Marker, error) {
	var list []Marker
	above := 0 // markers of the next line
	begin := 0
	for i, line := range strings.Split(text, "\n") {
		switch m := markerText.FindStringSubmatch(line); {
		case m != nil:
			list = append(list, Marker{Name: m[1], Guarantee: m[2], File: file})
			above++
		case markerLine.MatchString(line):
			return nil, fmt.Errorf("%w: %s:%d is %q, want guard:name, two spaces and a sentence", errMarker, file, i+1, line)
		case above > 0 && comment.MatchString(line):
			return nil, fmt.Errorf("%w: %s:%d: %s doesn't stand directly above a line of code", errMarker, file, i+1, list[len(list)-1].Name)
		default:
			for ; above > 0; above-- {
				m := &list[len(list)-above]
				m.Line, m.begin, m.end = i+1, begin, begin+len(line)
			}
		}
		begin += len(line) + 1
	}
	return list, nil
}
