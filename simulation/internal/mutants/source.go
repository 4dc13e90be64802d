package mutants

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// marked are the library's folders, which have markers.
var marked = []string{"drift", "fencing", "instance", "quorum"}

// source is the library's source in a checkout of the module.
type source struct {
	root    string
	texts   map[string]string // of the files, by their paths in the module, with slashes
	markers map[string]marker // by their names
}

// marker is a comment directly above a line that upholds a guarantee. It states the
// guarantee:
//
//	//guard:start-before-send  the validity counts from before the first SET
//	start := c.reader.Now()
//
// In Lua it begins with --guard:. Its name has letters, digits and dashes. Several markers may stand above one line.
type marker struct {
	guarantee string
	file      string // the path in the module, with slashes

	begin, end int // of the guarded line in the file's text
}

// open reads the checkout of the module in a folder. The error says which marker is wrong.
func open(root string) (source, error) {
	s := source{root, map[string]string{}, map[string]marker{}}
	for _, folder := range marked {
		if err := filepath.WalkDir(filepath.Join(root, folder), s.read); err != nil {
			return s, err
		}
	}
	return s, nil
}

// read reads a file that may have markers.
func (s *source) read(path string, entry fs.DirEntry, err error) error {
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
	file, err := filepath.Rel(s.root, path)
	if err != nil {
		return err
	}
	return s.add(filepath.ToSlash(file), string(text))
}

var (
	markerLine = regexp.MustCompile(`^\s*(?://|--)\s*guard:`)
	markerText = regexp.MustCompile(`^\s*(?://|--)guard:([a-z0-9-]+)  (\S.*)\n?$`)
)

// add adds a file with its markers.
func (s *source) add(file, text string) error {
	s.texts[file] = text
	var above []string // the names of the next line's markers
	begin := 0         // of the line
	for line := range strings.Lines(text) {
		m := markerText.FindStringSubmatch(line)
		switch {
		case m == nil && markerLine.MatchString(line):
			return fmt.Errorf("mutants: %s has %q, want guard:name, two spaces and a sentence", file, line)
		case m != nil:
			if other, twice := s.markers[m[1]]; twice {
				return fmt.Errorf("mutants: the marker %s is in %s and in %s", m[1], other.file, file)
			}
			s.markers[m[1]] = marker{guarantee: m[2], file: file}
			above = append(above, m[1])
		default:
			for _, name := range above {
				m := s.markers[name]
				m.begin, m.end = begin, begin+len(line)
				s.markers[name] = m
			}
			above = nil
		}
		begin += len(line)
	}
	return nil
}

func (s *source) path(file string) string { return filepath.Join(s.root, filepath.FromSlash(file)) }

// change is text that takes the place of other text in a file.
type change struct {
	begin, end int
	text       string
}

// find returns the file that an edit changes, and how.
func (s *source) find(e edit) (file string, c change, err error) {
	m, found := s.markers[e.Marker]
	text := s.texts[m.file]
	at, n := 0, 0
	for i := m.begin; i < m.end; i++ {
		if strings.HasPrefix(text[i:], e.Old) {
			at, n = i, n+1
		}
	}
	switch {
	case !found:
		err = fmt.Errorf("stale: there is no marker %q", e.Marker)
	case n != 1:
		err = fmt.Errorf("stale: the line below %s is %q, and %q begins %d times in it, want once", e.Marker, strings.TrimSpace(text[m.begin:m.end]), e.Old, n)
	}
	return m.file, change{at, at + len(e.Old), e.New}, err
}

// changed is the text from begin to end with the changes in it.
func changed(text string, begin, end int, changes []change) string {
	var b strings.Builder
	slices.SortStableFunc(changes, func(c, d change) int { return c.begin - d.begin })
	for _, c := range changes {
		b.WriteString(text[begin:c.begin] + c.text)
		begin = c.end
	}
	return b.String() + text[begin:end]
}
