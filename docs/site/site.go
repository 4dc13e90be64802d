package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// site is a folder of pages. Paths have slashes, and are those in the repository.
type site struct {
	root, out string
	whole     bool     // with the simulation's page and the report
	todo      []string // files and directories that a page links
	done      map[string]bool
}

//go:embed page.html
var layout string

var page = template.Must(template.New("page").Parse(layout))

// write writes the README and all that can be reached from it.
func (s *site) write() error {
	s.done = map[string]bool{}
	s.link("README.md")
	for len(s.todo) > 0 {
		name := s.todo[0]
		s.todo = s.todo[1:]
		if err := s.convert(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// link has a file or a directory written, once.
func (s *site) link(name string) {
	if !s.done[name] {
		s.done[name] = true
		s.todo = append(s.todo, name)
	}
}

// target is where a file or a directory of the repository is in the folder.
func (s *site) target(name string) string {
	if info, err := os.Stat(filepath.Join(s.root, name)); err == nil && info.IsDir() {
		return path.Join(name, "index.html")
	}
	switch path.Ext(name) {
	case ".svg", ".webp", ".png", ".html":
		return name
	case ".md":
		if name == "README.md" {
			return "index.html"
		}
		return strings.TrimSuffix(name, ".md") + ".html"
	}
	return name + ".html"
}

// convert writes one file or directory.
func (s *site) convert(name string) error {
	from := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		return s.put(name, name, s.directory(name, entries))
	}
	text, err := os.ReadFile(from)
	switch {
	case err != nil:
		return err
	case s.target(name) == name:
		return s.save(name, text)
	case path.Ext(name) != ".md":
		return s.put(name, name, source(name, text))
	}
	title, body, err := s.markdown(name, text)
	if err != nil {
		return err
	}
	return s.put(name, title, body)
}

// put writes a page.
func (s *site) put(name, title string, body template.HTML) error {
	up := strings.Repeat("../", strings.Count(s.target(name), "/"))
	var b bytes.Buffer
	if err := page.Execute(&b, map[string]any{"Title": title, "Up": up, "Body": body, "Whole": s.whole}); err != nil {
		return err
	}
	return s.save(s.target(name), b.Bytes())
}

func (s *site) save(target string, text []byte) error {
	to := filepath.Join(s.out, filepath.FromSlash(target))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644) //nolint:gosec // a web server has to read it
}
