package mutants

import (
	"errors"
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

// switched returns the changed files of a copy of the source in which mutants can be switched on. The error says
// which mutant no longer fits the source.
func (s source) switched(list []mutant) (map[string]string, error) {
	inserts := map[string][]change{} // by file of Go
	cases := map[string]string{}     // by folder of Go: those of its switch of scripts
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
			if path.Ext(file) == ".go" {
				bodies, err := otherBodies(m.Name, s.texts[file], changes)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", m.Name, err)
				}
				inserts[file] = append(inserts[file], bodies...)
				continue
			}
			in := scripts[path.Dir(file)]
			at, folder := strings.Index(s.texts[in.file], in.before), path.Dir(in.file)
			if in.file == "" || at < 0 {
				return nil, fmt.Errorf("%s: stale: it isn't known where Go has %s; add its folder to scripts in switches.go", m.Name, file)
			}
			if cases[folder] == "" {
				inserts[in.file] = append(inserts[in.file], change{at, at, "text = mutantScript(text)\n"})
			}
			text := s.texts[file]
			cases[folder] += fmt.Sprintf("\tcase %q:\n\t\tbefore, after = %q, %q\n", m.Name, text, changed(text, 0, len(text), changes))
		}
	}
	texts := map[string]string{}
	for file, inserts := range inserts {
		text := s.texts[file]
		texts[file] = changed(text, 0, len(text), inserts)
		clause, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
		if err != nil {
			return nil, err
		}
		folder := path.Dir(file)
		texts[path.Join(folder, "redlock_mutant.go")] = fmt.Sprintf(switchFile, clause.Name, switchVariable, cases[folder])
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

// otherBodies returns what a mutant's changes insert into a file of Go: at the beginning of each changed function, its
// other body.
func otherBodies(mutant, text string, changes []change) (inserts []change, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
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
		inserts = append(inserts, change{begin, begin, fmt.Sprintf(" if mutantOn == %q { %s }\n", mutant, call)})
	}
	if len(changes) > 0 {
		return nil, errors.New("stale: it changes more than the bodies of functions, so it can't be switched on")
	}
	return inserts, nil
}
