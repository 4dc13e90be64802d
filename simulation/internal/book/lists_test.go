package book_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

func init() {
	generators["scenario-list"] = func([]string) (string, error) { return scenarioList(), nil }
	generators["design-list"] = func([]string) (string, error) { return designList(), nil }
	generators["fields"] = fieldList
	generators["numbered"] = numbered
	generators["section"] = section
}

// scenarioList has a heading for each scenario. Its verdicts are those that the tests of the
// package check.
func scenarioList() string {
	var b strings.Builder
	for _, s := range scenarios.All() {
		fmt.Fprintf(&b, "### %s\n\n**%s.**\n\n", s.ID, s.Title)
		for i, step := range s.Steps {
			fmt.Fprintf(&b, "%d. %s\n", i+1, step)
		}
		fmt.Fprintf(&b, "\n- Taken for granted: %s\n- Broken by that: %s\n- What helps: %s\n", s.Assumption, s.Breaks, s.Helps)
		if s.NoCure != "" {
			fmt.Fprintf(&b, "- Why no design ends well: %s\n", s.NoCure)
		}
		var endings []string
		by := map[string][]string{}
		for _, d := range s.Designs() {
			end := ending(s, d)
			if by[end] == nil {
				endings = append(endings, end)
			}
			by[end] = append(by[end], "`"+d.Name+"`")
		}
		for _, end := range endings {
			fmt.Fprintf(&b, "- How it ends: %s, for %s\n", end, strings.Join(by[end], ", "))
		}
		fmt.Fprintf(&b, "- Source: %s\n\n", strings.TrimSuffix(s.Source, "."))
	}
	return b.String()
}

// designList has a heading for each group of designs, and one for designs in a single scenario.
func designList() string {
	var b strings.Builder
	group := designs.Group("")
	for _, d := range designs.All() {
		if d.Group != group {
			group = d.Group
			fmt.Fprintf(&b, "## %s%s\n\n", strings.ToUpper(string(group[:1])), group[1:])
		}
		fmt.Fprintf(&b, "### %s\n\n**%s.**\n\n", d.Name, strings.ToUpper(d.Title[:1])+d.Title[1:])
		for _, part := range [][2]string{{"What its users expect", d.Promises}, {"What breaks it", d.Breaks}, {"What fixes it", cure(d)}, {"Source", d.Source}} {
			if part[1] != "" {
				fmt.Fprintf(&b, "- %s: %s\n", part[0], strings.TrimSuffix(part[1], "."))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## Played in one scenario alone\n\nThe library, or one of the above, with one thing changed.\n\n")
	var rows [][]string
	seen := map[string]int{}
	for _, s := range scenarios.All() {
		for _, d := range s.Variants {
			if at, ok := seen[d.Name]; ok {
				rows[at][2] += ", " + s.ID
				continue
			}
			seen[d.Name] = len(rows)
			rows = append(rows, []string{"`" + d.Name + "`", d.Title, s.ID})
		}
	}
	b.WriteString(table("design | what it is | scenarios", rows))
	return b.String()
}

func cure(d designs.Design) string {
	if d.Cure == "" {
		return ""
	}
	return "`" + d.Cure + "`"
}

// fieldList returns the fields of a struct with their comments: words are the package's folder and
// the type.
func fieldList(words []string) (string, error) {
	if len(words) != 2 {
		return "", fmt.Errorf("want a folder and a type, got %q", words)
	}
	fields, err := fieldsOf(filepath.Join("..", words[0]), words[1])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range fields {
		if f.doc == "" {
			return "", fmt.Errorf("%s.%s has a field %s without a comment", words[0], words[1], f.name)
		}
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", f.name, f.kind, f.doc)
	}
	return b.String(), nil
}

// field is an exported field of a struct.
type field struct{ name, kind, doc string }

// fieldsOf returns the exported fields of a struct in source order, including those of embedded
// structs.
func fieldsOf(dir, name string) ([]field, error) {
	structs, err := structsIn(dir)
	if err != nil {
		return nil, err
	}
	s, ok := structs[name]
	if !ok {
		return nil, fmt.Errorf("there is no struct %s in %s", name, dir)
	}
	var fields []field
	shared := "" // one comment may be above several lines of fields
	for _, f := range s.Fields.List {
		doc := asMarkdown(f.Doc.Text() + f.Comment.Text())
		if doc != "" {
			shared = doc
		}
		for _, id := range f.Names {
			if id.IsExported() {
				fields = append(fields, field{name: id.Name, kind: "`" + source(f.Type) + "`", doc: shared})
			}
		}
	}
	return fields, nil
}

// structsIn finds the exported structs of a package.
func structsIn(dir string) (map[string]*ast.StructType, error) {
	files, err := sources(dir)
	if err != nil {
		return nil, err
	}
	structs := map[string]*ast.StructType{}
	for _, file := range files {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				t := spec.(*ast.TypeSpec)
				if s, ok := t.Type.(*ast.StructType); ok && t.Name.IsExported() {
					structs[t.Name.Name] = s
				}
			}
		}
	}
	return structs, nil
}

// sources parses a folder's files without its tests.
func sources(dir string) ([]*ast.File, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// source writes a type as in the code.
func source(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return source(t.X) + "." + t.Sel.Name
	case *ast.StarExpr:
		return "*" + source(t.X)
	case *ast.ArrayType:
		return "[]" + source(t.Elt)
	case *ast.MapType:
		return "map[" + source(t.Key) + "]" + source(t.Value)
	case *ast.FuncType:
		return "func"
	default:
		return fmt.Sprintf("%T", t)
	}
}

// asMarkdown puts a comment on one line.
func asMarkdown(comment string) string {
	return strings.NewReplacer("<", "&lt;", "|", "\\|").Replace(strings.Join(strings.Fields(comment), " "))
}

// numbered returns an item of a numbered list in a package's documentation, as a quotation: words
// are the package's folder, a word of the list's heading, and the number.
func numbered(words []string) (string, error) {
	if len(words) != 3 {
		return "", fmt.Errorf("want a folder, a word of a heading and a number, got %q", words)
	}
	items, err := numberedItems(words[0], words[1])
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 1 || n > len(items) {
		return "", fmt.Errorf("%q is none of the %d items", words[2], len(items))
	}
	return "> " + items[n-1], nil
}

// section returns a section of a package's documentation, as a quotation: words are the package's folder
// and the heading.
func section(words []string) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("want a folder and a heading, got %q", words)
	}
	all, err := sections(words[0])
	if err != nil {
		return "", err
	}
	heading := strings.Join(words[1:], " ")
	for _, s := range all {
		if s.heading == heading {
			text := (&comment.Printer{}).Markdown(new(comment.Parser).Parse(s.body))
			quoted := "> " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n> ")
			return strings.ReplaceAll(quoted, "> \n", ">\n"), nil
		}
	}
	return "", fmt.Errorf("%s/doc.go has no section %q", words[0], heading)
}

// docSection is a section of a package's documentation.
type docSection struct{ heading, body string }

func sections(folder string) ([]docSection, error) {
	text, err := os.ReadFile(filepath.Join("..", folder, "doc.go"))
	if err != nil {
		return nil, err
	}
	var all []docSection
	for _, s := range strings.Split(regexp.MustCompile(`(?m)^// ?`).ReplaceAllString(string(text), ""), "\n# ")[1:] {
		heading, body, _ := strings.Cut(s, "\n")
		all = append(all, docSection{heading, body})
	}
	return all, nil
}

// numberedItems returns the items of the list under the first heading with a word, in a package's
// doc.go.
func numberedItems(folder, word string) ([]string, error) {
	all, err := sections(folder)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if !strings.Contains(s.heading, word) {
			continue
		}
		var items []string
		for _, item := range regexp.MustCompile(`(?m)^ +\d+\. (.*(?:\n    .*)*)`).FindAllStringSubmatch(s.body, -1) {
			items = append(items, strings.Join(strings.Fields(item[1]), " "))
		}
		if len(items) > 0 {
			return items, nil
		}
	}
	return nil, fmt.Errorf("%s/doc.go has no numbered list under a heading with %q", folder, word)
}
