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

// scripts are where Go has the text of a script of a folder: before this text in a file, in a variable text.
var scripts = map[string]struct{ file, before string }{
	"instance/scripts":   {"instance/script.go", "source.Write(text)"},
	"fencing/redisguard": {"fencing/redisguard/script.go", "sum := sha1.Sum([]byte(text))"},
}

// switches is a copy of the source in which mutants can be switched on.
type switches struct {
	source  source
	files   map[string]*ast.File // of Go, by their paths
	inserts map[string][]change  // by file: what is added to it
	cases   map[string]string    // by folder: the cases of its switch of scripts
}

// switched returns the changed files of a copy of the source in which mutants can be switched on. The error says
// which mutant no longer fits the source.
func (s source) switched(list []mutant) (map[string]string, error) {
	c := switches{s, map[string]*ast.File{}, map[string][]change{}, map[string]string{}}
	for _, m := range list {
		files := map[string][]change{}
		for _, e := range m.Edits {
			file, change, err := s.find(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			files[file] = append(files[file], change)
		}
		for file, changes := range files {
			if err := c.add(m.Name, file, changes); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
		}
	}
	texts := map[string]string{}
	for file, inserts := range c.inserts {
		text := s.texts[file]
		texts[file] = changed(text, 0, len(text), inserts)
		folder := path.Dir(file)
		texts[path.Join(folder, "redlock_mutant.go")] = fmt.Sprintf(switchFile, c.files[file].Name, switchVariable, c.cases[folder])
	}
	return texts, nil
}

// switchFile is the file with the switch of a package.
const switchFile = `package %s

import (
	"os"
	"strings"
)

var mutantOn = os.Getenv(%q)

func mutantScript[T string | []byte](text T) T {
	before, after := "", ""
	switch mutantOn {
%s	}
	return T(strings.Replace(string(text), before, after, 1))
}
`

// add adds what a mutant changes in a file.
func (c *switches) add(mutant, file string, changes []change) error {
	text := c.source.texts[file]
	if path.Ext(file) == ".lua" {
		return c.addScript(mutant, path.Dir(file), text, changed(text, 0, len(text), changes))
	}
	if err := c.parse(file); err != nil {
		return err
	}
	for _, d := range c.files[file].Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		begin, end := int(f.Body.Lbrace), int(f.Body.Rbrace)-1 // positions count from 1
		isIn := func(c change) bool { return begin <= c.begin && c.end <= end }
		own := slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return !isIn(c) })
		if len(own) == 0 {
			continue
		}
		changes = slices.DeleteFunc(changes, isIn)
		// A closure, so that the results and labels of the other body have their own scope.
		call := "func() {" + changed(text, begin, end, own) + "}(); return"
		if r := f.Type.Results; r != nil {
			call = fmt.Sprintf("return func() %s {%s}()", text[r.Pos()-1:r.End()-1], changed(text, begin, end, own))
		}
		c.insert(file, begin, fmt.Sprintf(" if mutantOn == %q { %s }\n", mutant, call))
	}
	if len(changes) > 0 {
		return fmt.Errorf("stale: it changes more of %s than the bodies of functions, so it can't be switched on", file)
	}
	return nil
}

// parse parses a file of Go, once.
func (c *switches) parse(file string) error {
	if c.files[file] != nil {
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", c.source.texts[file], parser.SkipObjectResolution)
	c.files[file] = parsed
	return err
}

// addScript adds another text of a script.
func (c *switches) addScript(mutant, folder, text, other string) error {
	in, ok := scripts[folder]
	at := strings.Index(c.source.texts[in.file], in.before)
	if !ok || at < 0 {
		return fmt.Errorf("stale: it isn't known where Go has the scripts of %s; add them to scripts in switches.go", folder)
	}
	if err := c.parse(in.file); err != nil {
		return err
	}
	if pkg := path.Dir(in.file); c.cases[pkg] == "" {
		c.insert(in.file, at, "text = mutantScript(text)\n")
	}
	c.cases[path.Dir(in.file)] += fmt.Sprintf("\tcase %q:\n\t\tbefore, after = %q, %q\n", mutant, text, other)
	return nil
}

func (c *switches) insert(file string, at int, text string) {
	c.inserts[file] = append(c.inserts[file], change{at, at, text})
}
