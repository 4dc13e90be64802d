package main

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// markdown is a page as HTML, and its title: its first heading.
func (s *site) markdown(name string, page []byte) (title string, body template.HTML, err error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())) // the pages have anchors in HTML
	doc := md.Parser().Parse(text.NewReader(page), parser.WithContext(parser.NewContext()))
	ids := map[string]int{}
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			words := plain(n, page)
			if title == "" {
				title = words
			}
			n.SetAttributeString("id", []byte(anchor(words, ids)))
		case *ast.Link:
			n.Destination, err = s.destination(name, n.Destination)
		case *ast.Image:
			n.Destination, err = s.destination(name, n.Destination)
		}
		return ast.WalkContinue, err
	})
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	err = md.Renderer().Render(&b, page, doc)
	return title, template.HTML(b.String()), err //nolint:gosec // our own pages
}

// destination is a link's in the folder. What it leads to will be written.
func (s *site) destination(from string, to []byte) ([]byte, error) {
	link, fragment, _ := strings.Cut(string(to), "#")
	if link == "" || strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return to, nil
	}
	name := path.Join(path.Dir(from), link)
	if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name))); err != nil {
		return nil, fmt.Errorf("link to %s: %w", link, err)
	}
	s.link(name)
	relative, err := filepath.Rel(path.Dir(s.target(from)), s.target(name))
	if err != nil {
		return nil, err
	}
	if fragment != "" {
		relative += "#" + fragment
	}
	return []byte(filepath.ToSlash(relative)), nil
}

// plain is the text of a heading.
func plain(n ast.Node, page []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if t, is := n.(*ast.Text); is && entering {
			b.Write(t.Segment.Value(page))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchor is a heading's name in links, as GitHub makes it: lower case, spaces as dashes, other signs
// left out, and a number after the second heading of the same name.
func anchor(heading string, seen map[string]int) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.ToLower(heading))
	n := seen[name]
	seen[name]++
	if n > 0 {
		return fmt.Sprintf("%s-%d", name, n)
	}
	return name
}
