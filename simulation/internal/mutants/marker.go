package mutants

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
}

// errMarker: a marker is malformed, repeats a name, or is not directly above a line.
var errMarker = errors.New("mutants: bad marker")

// marked are the library's folders, which have markers.
var marked = []string{"drift", "fencing", "instance", "quorum"}

var (
	markerLine = regexp.MustCompile(`^\s*(?://|--)\s*guard:`)
	markerText = regexp.MustCompile(`^\s*(?://|--)guard:([a-z0-9]+(?:-[a-z0-9]+)*)  (\S.*)$`)
	comment    = regexp.MustCompile(`^\s*(?://|--|$)`)
)

// Markers returns all markers of the source, sorted by file and line. The error Is errMarker.
func (s Source) Markers() ([]Marker, error) { return s.markers() }

func readMarkers(root string) ([]Marker, error) {
	var all []Marker
	seen := map[string]Marker{}
	for _, folder := range marked {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "testdata" {
				return filepath.SkipDir // copies
			}
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".lua" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			list, err := markersIn(filepath.ToSlash(file), string(text))
			for _, m := range list {
				if other, twice := seen[m.Name]; twice {
					return fmt.Errorf("%w: %s is in %s:%d and in %s:%d", errMarker, m.Name, other.File, other.Line, m.File, m.Line)
				}
				seen[m.Name] = m
			}
			all = append(all, list...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// markersIn returns the markers of a file.
func markersIn(file, text string) ([]Marker, error) {
	var list []Marker
	above := 0 // markers of the next line
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
				list[len(list)-above].Line = i + 1
			}
		}
	}
	return list, nil
}

// guarded returns the beginning and the end of the line below a marker.
func guarded(text, marker string) (begin, end int, found bool) {
	for line := range strings.Lines(text) {
		end = begin + len(strings.TrimSuffix(line, "\n"))
		m := markerText.FindStringSubmatch(text[begin:end])
		switch {
		case m != nil && m[1] == marker:
			found = true
		case m == nil && found:
			return begin, end, true
		}
		begin += len(line)
	}
	return 0, 0, false
}
