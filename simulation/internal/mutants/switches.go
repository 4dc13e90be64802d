package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// switchVariable is the environment variable that names the mutant that is switched on.
const switchVariable = "REDLOCKSIM_MUTANT"

// function is a function of a source file: where its body is, and what it returns.
type function struct {
	begin, end int // of the body, without its braces
	results    string
}

// functions returns the functions of a file in their order, and the name of its package.
func functions(text string) (list []function, pkg string, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	offset := func(at token.Pos) int { return files.Position(at).Offset }
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			found := function{begin: offset(f.Body.Lbrace) + 1, end: offset(f.Body.Rbrace)}
			if f.Type.Results != nil {
				found.results = text[offset(f.Type.Results.Pos()):offset(f.Type.Results.End())]
			}
			list = append(list, found)
		}
	}
	return list, parsed.Name.Name, nil
}

// outside returns a file's text without the bodies of its functions.
func outside(text string, list []function) string {
	var b strings.Builder
	from := 0
	for _, f := range list {
		b.WriteString(text[from:f.begin])
		from = f.end
	}
	return b.String() + text[from:]
}

// changedBodies returns the new bodies of the functions that a mutant changes in a file, by
// the function's index. ok is false if it changes anything else.
func changedBodies(original, mutated string) (bodies map[int]string, ok bool) {
	before, _, err := functions(original)
	if err != nil {
		return nil, false
	}
	after, _, err := functions(mutated)
	if err != nil || outside(original, before) != outside(mutated, after) {
		return nil, false
	}
	bodies = map[int]string{}
	for i, f := range after {
		if body := mutated[f.begin:f.end]; body != original[before[i].begin:before[i].end] {
			bodies[i] = body
		}
	}
	return bodies, true
}

// together returns the texts of all files in which mutants can be switched on, and the mutants that
// have to be built on their own.
func (s Source) together(list []mutant) (texts map[string]string, apart []string, err error) {
	files := map[string]*switched{}
	for _, m := range list {
		mutated, err := s.mutated(m)
		if err != nil || !s.join(files, m.Name, mutated) {
			apart = append(apart, m.Name)
		}
	}
	texts = map[string]string{}
	for file, f := range files {
		if err := f.write(file, texts); err != nil {
			return nil, nil, err
		}
	}
	return texts, apart, nil
}

// join adds a mutant to the files, and reports whether it can be switched on.
func (s Source) join(files map[string]*switched, name string, mutated map[string]string) bool {
	changed := map[string]map[int]string{}
	for file, text := range mutated {
		if !strings.HasSuffix(file, ".go") {
			return false
		}
		if files[file] == nil {
			original, err := s.read(file)
			if err != nil {
				return false
			}
			files[file] = &switched{text: original, statements: map[int][]string{}}
		}
		bodies, ok := changedBodies(files[file].text, text)
		if !ok {
			return false
		}
		changed[file] = bodies
	}
	for file, bodies := range changed {
		for i, body := range bodies {
			files[file].add(i, name, body)
		}
	}
	return true
}

// switched is a file of Go in which mutants can be switched on.
type switched struct {
	text string
	// statements are those that run a mutant's body, by the function's index.
	statements map[int][]string
}

// add adds a mutant's body of a function. It is a closure, so that its results and labels
// have their own scope.
func (s *switched) add(i int, name, body string) {
	list, _, _ := functions(s.text) // changedBodies has parsed it
	call := fmt.Sprintf("return func() %s {%s}()", list[i].results, body)
	if list[i].results == "" {
		call = fmt.Sprintf("func() {%s}(); return", body)
	}
	s.statements[i] = append(s.statements[i], fmt.Sprintf(" if mutantOn == %q { %s }\n", name, call))
}

// write adds the file's text, and that of the file with the switch beside it.
func (s *switched) write(file string, texts map[string]string) error {
	list, pkg, err := functions(s.text)
	if err != nil {
		return err
	}
	text := s.text
	for i, f := range slices.Backward(list) {
		text = text[:f.begin] + strings.Join(s.statements[i], "") + text[f.begin:]
	}
	texts[file] = text
	texts[path.Join(path.Dir(file), "redlock_mutant.go")] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutantOn = os.Getenv(%q)\n", pkg, switchVariable)
	return nil
}
