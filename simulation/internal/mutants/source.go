package mutants

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is the module whose source is mutated.
const module = "github.com/redquorum/redlock"

// marked are the library's folders, which have markers.
var marked = []string{"drift", "fencing", "instance", "quorum"}

var (
	// ErrSource: the module's source or the go tool was not found.
	ErrSource = errors.New("mutants: no source")
	// errStale: a mutant no longer fits the source, because its marker or the text that
	// it replaces is gone.
	errStale = errors.New("mutants: stale")
)

// Source is the library's source in a checkout of the module.
type Source struct {
	// Markers are sorted by file and line.
	Markers []Marker

	root  string
	texts map[string]string // of the files, by their paths in the module, with slashes
}

// Open reads the checkout that contains a folder. The error Is ErrSource, or errMarker.
func Open(ctx context.Context, dir string) (Source, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return Source{}, fmt.Errorf("%w: the go tool, which builds mutants, is not in the PATH", ErrSource)
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if ctx.Err() != nil {
		return Source{}, ctx.Err()
	}
	path, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
	if err != nil || path != module || root == "" {
		return Source{}, fmt.Errorf("%w: run this in a checkout of %s (this is in %q)", ErrSource, module, path)
	}
	return read(root)
}

// read reads the files that may have markers.
func read(root string) (Source, error) {
	s := Source{root: root, texts: map[string]string{}}
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
			return s.add(filepath.ToSlash(file), string(text))
		})
		if err != nil {
			return Source{}, err
		}
	}
	return s, nil
}

// add adds a file with its markers.
func (s *Source) add(file, text string) error {
	list, err := markersIn(file, text)
	if err != nil {
		return err
	}
	for _, m := range list {
		if other, twice := s.marker(m.Name); twice {
			return fmt.Errorf("%w: %s is in %s:%d and in %s:%d", errMarker, m.Name, other.File, other.Line, m.File, m.Line)
		}
		s.Markers = append(s.Markers, m)
	}
	s.texts[file] = text
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
		err = fmt.Errorf("%w: there is no marker %q", errStale, e.Marker)
	case n != 1:
		err = fmt.Errorf("%w: the line below %s is %q, and %q begins %d times in it, want once", errStale, e.Marker, strings.TrimSpace(text[m.begin:m.end]), e.Old, n)
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
