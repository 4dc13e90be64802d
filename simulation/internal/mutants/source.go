package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// module is the module whose source is mutated.
const module = "github.com/redquorum/redlock"

// Source is a checkout of the module.
type Source struct {
	root    string
	markers func() ([]Marker, error) // read once
}

// Open finds the checkout that contains a folder. The error Is ErrSource.
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
	return Source{root: root, markers: sync.OnceValues(func() ([]Marker, error) { return readMarkers(root) })}, nil
}

// Check reports whether a mutant fits the source. The error Is errStale.
func (s Source) Check(m mutant) error {
	_, err := s.mutated(m)
	return err
}

// mutated returns the new text of every file that the mutant changes.
func (s Source) mutated(m mutant) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		marker, err := s.marker(e.Marker)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		text, begun := texts[marker.File]
		if !begun {
			if text, err = s.read(marker.File); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", errStale, m.Name, err)
			}
		}
		if text, err = e.apply(text); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		texts[marker.File] = text
	}
	return texts, nil
}

// marker finds a marker by its name. The error Is errStale, or errMarker.
func (s Source) marker(name string) (Marker, error) {
	all, err := s.Markers()
	if err != nil {
		return Marker{}, err
	}
	i := slices.IndexFunc(all, func(m Marker) bool { return m.Name == name })
	if i < 0 {
		return Marker{}, fmt.Errorf("%w: there is no marker %q", errStale, name)
	}
	return all[i], nil
}

// Guarantee returns the guarantee that the mutant breaks, "" if it doesn't fit the source.
func (s Source) Guarantee(m mutant) string {
	if len(m.Edits) == 0 {
		return ""
	}
	marker, err := s.marker(m.Edits[0].Marker)
	if err != nil {
		return "" // Check reports it
	}
	return marker.Guarantee
}

func (s Source) path(file string) string { return filepath.Join(s.root, filepath.FromSlash(file)) }

// read returns the text of a file.
func (s Source) read(file string) (string, error) {
	raw, err := os.ReadFile(s.path(file))
	return string(raw), err
}
