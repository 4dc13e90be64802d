package mutants

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is the module whose source is mutated.
const module = "github.com/redquorum/redlock"

// marked are the library's folders, which have markers.
var marked = []string{"drift", "fencing", "instance", "quorum"}

// ErrSource: the module's source or the go tool was not found.
var ErrSource = errors.New("mutants: no source")

// Source is the library's source in a checkout of the module.
type Source struct {
	// Markers are sorted by file and line.
	Markers []Marker

	root  string
	texts map[string]string // of the files, by their paths in the module, with slashes
}

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

// Open reads the checkout that contains a folder. The error Is ErrSource, or says which marker is wrong.
func Open(ctx context.Context, dir string) (Source, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	path, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
	switch {
	case ctx.Err() != nil:
		return Source{}, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return Source{}, fmt.Errorf("%w: the go tool, which builds mutants, is not in the PATH", ErrSource)
	case err != nil || path != module:
		return Source{}, fmt.Errorf("%w: run this in a checkout of %s (this is in %q)", ErrSource, module, path)
	}
	s := Source{root: root, texts: map[string]string{}}
	for _, folder := range marked {
		if err := filepath.WalkDir(filepath.Join(root, folder), s.read); err != nil {
			return Source{}, err
		}
	}
	return s, nil
}

// read reads a file that may have markers.
func (s *Source) read(path string, entry fs.DirEntry, err error) error {
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
	markerText = regexp.MustCompile(`^\s*(?://|--)guard:([a-z0-9-]+)  (\S.*)$`)
)

// add adds a file with its markers.
func (s *Source) add(file, text string) error {
	s.texts[file] = text
	above, begin := 0, 0 // markers of the next line, and where the line begins
	for i, line := range strings.Split(text, "\n") {
		m := markerText.FindStringSubmatch(line)
		switch {
		case m == nil && markerLine.MatchString(line):
			return fmt.Errorf("mutants: %s:%d is %q, want guard:name, two spaces and a sentence", file, i+1, line)
		case m != nil:
			if other, twice := s.marker(m[1]); twice {
				return fmt.Errorf("mutants: the marker %s is in %s:%d and in %s:%d", m[1], other.File, other.Line, file, i+1)
			}
			s.Markers = append(s.Markers, Marker{Name: m[1], Guarantee: m[2], File: file})
			above++
		default:
			for ; above > 0; above-- {
				m := &s.Markers[len(s.Markers)-above]
				m.Line, m.begin, m.end = i+1, begin, begin+len(line)
			}
		}
		begin += len(line) + 1
	}
	return nil
}

// marker finds a marker by its name.
func (s *Source) marker(name string) (m Marker, found bool) {
	i := slices.IndexFunc(s.Markers, func(m Marker) bool { return m.Name == name })
	if i < 0 {
		return Marker{}, false
	}
	return s.Markers[i], true
}

func (s *Source) path(file string) string { return filepath.Join(s.root, filepath.FromSlash(file)) }

// change is text that takes the place of other text in a file.
type change struct {
	begin, end int
	text       string
}

// find returns the file that an edit changes, and how.
func (s *Source) find(e edit) (file string, c change, err error) {
	m, found := s.marker(e.Marker)
	text := s.texts[m.File]
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
	return m.File, change{at, at + len(e.Old), e.New}, err
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
