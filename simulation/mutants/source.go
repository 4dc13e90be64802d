package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// module is whose source it is.
const module = "github.com/redquorum/redlock"

// Source is a checkout of the module.
type Source struct {
	root    string
	markers func() ([]Marker, error) // read once
}

// Open finds the checkout that a folder is in, "." for the present one. The error Is
// ErrSource.
func Open(ctx context.Context, dir string) (Source, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return Source{}, fmt.Errorf("%w: mutants are built with the go tool, which isn't in the PATH", ErrSource)
	}
	var stderr bytes.Buffer
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}")
	list.Dir, list.Stderr = dir, &stderr
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if ctx.Err() != nil {
		return Source{}, ctx.Err()
	}
	path, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
	if shown, err := filepath.Abs(dir); err == nil {
		dir = shown
	}
	if err != nil || path != module || root == "" {
		return Source{}, fmt.Errorf("%w: mutants are made of the module's source: start this in a checkout of %s (%q is in %s)", ErrSource, module, dir, place(path, stderr.String(), err))
	}
	return Source{root: root, markers: sync.OnceValues(func() ([]Marker, error) { return readMarkers(root) })}, nil
}

// place says where a folder is that isn't the right one.
func place(path, stderr string, err error) string {
	switch line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n"); {
	case path != "" && path != "command-line-arguments": // what go list says of no module
		return path
	case line != "":
		return "no module: " + line
	case err != nil:
		return "no module: " + err.Error()
	default:
		return "no module"
	}
}

// Check says whether a mutant fits the source. The error Is ErrStale.
func (s Source) Check(m Mutant) error {
	_, err := s.broken(m)
	return err
}

// broken gives the text of every file that the mutant changes.
func (s Source) broken(m Mutant) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		marker, err := s.marker(e.Marker)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		text, begun := texts[marker.File]
		if !begun {
			raw, err := os.ReadFile(s.path(marker.File))
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrStale, m.Name, err)
			}
			text = string(raw)
		}
		if text, err = e.apply(text); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		texts[marker.File] = text
	}
	return texts, nil
}

// marker finds a marker by its name. The error Is ErrStale, or ErrMarker.
func (s Source) marker(name string) (Marker, error) {
	all, err := s.Markers()
	if err != nil {
		return Marker{}, err
	}
	i := slices.IndexFunc(all, func(m Marker) bool { return m.Name == name })
	if i < 0 {
		return Marker{}, fmt.Errorf("%w: there is no marker %q", ErrStale, name)
	}
	return all[i], nil
}

// Guarantee is what doesn't hold any more with the mutant; "" if it doesn't fit the source.
func (s Source) Guarantee(m Mutant) string {
	if len(m.Edits) == 0 {
		return ""
	}
	marker, err := s.marker(m.Edits[0].Marker)
	if err != nil {
		return "" // Check tells
	}
	return marker.Guarantee
}

func (s Source) path(file string) string { return filepath.Join(s.root, filepath.FromSlash(file)) }

// overlay writes the mutant's files and what tells the go tool of them into a folder
// of its own. It gives the latter's path, and where each file's new text is.
func (s Source) overlay(m Mutant, folder string) (path string, replace map[string]string, err error) {
	texts, err := s.broken(m)
	if err != nil {
		return "", nil, err
	}
	return s.overlayOf(texts, folder)
}

func (s Source) overlayOf(texts map[string]string, folder string) (path string, replace map[string]string, err error) {
	replace = map[string]string{}
	for file, text := range texts {
		broken := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
			return "", nil, err
		}
		replace[s.path(file)] = broken
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(folder, "overlay.json")
	return path, replace, os.WriteFile(path, raw, 0o600)
}

// packages lists the packages that the mutant changes.
func (s Source) packages(m Mutant) []string {
	var list []string
	for _, e := range m.Edits {
		marker, err := s.marker(e.Marker)
		if err != nil {
			continue // Check tells
		}
		if pkg := "./" + path.Dir(marker.File); !slices.Contains(list, pkg) {
			list = append(list, pkg)
		}
	}
	return list
}
