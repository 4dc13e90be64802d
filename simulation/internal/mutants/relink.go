package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A mutant changes one package, rarely two. The go tool recompiles every package that
// imports them, which is most of a mutant's cost. That is unnecessary if the mutant leaves
// the export data unchanged, because the compiler reads nothing else of an imported
// package. So a program is linked from the archives of the unmodified source, except for
// the packages that the mutant changes.
//
// The linker checks this: each archive has a hash of the export data of every package
// that it was compiled with, and the linker rejects a program in which one differs. Then,
// and on any other error, the go tool builds the program. Nothing is inlined across
// packages of the module (see unoptimized), and the results of escape analysis are part
// of the export data.

// program is a program of the unmodified source: the main package, which is the last one,
// and its imports, in dependency order.
type program []listed

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Name, Dir, ForTest, Export string
	Standard                               bool
	GoFiles, EmbedFiles, EmbedPatterns     []string
	CgoFiles, SFiles, SysoFiles            []string
	DefaultGODEBUG                         string
	Module                                 *struct{ GoVersion string }
}

// path returns the import path without the suffix for test builds.
func (p *listed) path() string {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return path
}

var errNotRelinked = errors.New("mutants: can't be relinked")

// programs lists each program once.
type programs struct {
	mu   sync.Mutex
	list map[string]func() (program, error)
}

func (p *programs) of(key string, list func() (program, error)) (program, error) {
	p.mu.Lock()
	if p.list == nil {
		p.list = map[string]func() (program, error){}
	}
	once, ok := p.list[key]
	if !ok {
		once = sync.OnceValues(list)
		p.list[key] = once
	}
	p.mu.Unlock()
	return once()
}

// relink links the program of a package: its test program if test is set.
func (r *runner) relink(ctx context.Context, pkg string, test bool, binary string) error {
	p, err := r.programs.of(fmt.Sprint(pkg, test), func() (program, error) { return r.list(ctx, pkg, test) })
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(r.folder, "relink-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // Run reports it if the parent folder stays
	archives := map[string]string{}
	for i := range p {
		archives[p[i].path()] = p[i].Export
	}
	for i := range p {
		changed := &p[i]
		if !r.changes(changed) {
			continue
		}
		archive := filepath.Join(folder, fmt.Sprintf("%d.a", i))
		if err := r.compile(ctx, changed, archives, folder, archive); err != nil {
			return err
		}
		archives[changed.path()] = archive
	}
	main := &p[len(p)-1]
	args := []string{"-o", binary, "-s", "-w"}
	if test {
		args = append(args, "-X", "testing.testBinary=1")
	}
	if main.DefaultGODEBUG != "" {
		args = append(args, "-X", "runtime.godebugDefault="+main.DefaultGODEBUG)
	}
	return r.tool(ctx, "link", archives, folder, append(args, archives[main.path()])...)
}

// list compiles the unmodified source and returns the packages of the program.
func (r *runner) list(ctx context.Context, pkg string, test bool) (program, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Name,Dir,ForTest,Export,Standard,GoFiles,EmbedFiles,EmbedPatterns,CgoFiles,SFiles,SysoFiles,DefaultGODEBUG,Module"}, unoptimized...)
	if test {
		args = append(args, "-test")
	}
	stdout, stderr, err := r.goTool(ctx, append(args, pkg)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %s", errNotRelinked, err, firstLine(stderr))
	}
	var p program
	for dec := json.NewDecoder(bytes.NewReader(stdout)); dec.More(); {
		var l listed
		if err := dec.Decode(&l); err != nil {
			return nil, fmt.Errorf("%w: %w", errNotRelinked, err)
		}
		p = append(p, l)
	}
	if test {
		// Packages compiled for the test replace the others.
		for _, l := range slices.Clone(p) {
			if l.ForTest != "" {
				p = slices.DeleteFunc(p, func(other listed) bool { return other.ImportPath == l.path() && other.ForTest == "" })
			}
		}
	}
	if len(p) == 0 || p[len(p)-1].Name != "main" {
		return nil, fmt.Errorf("%w: %s is not a program", errNotRelinked, pkg)
	}
	return p, nil
}

// changes reports whether the mutant changes a file of the package.
func (r *runner) changes(p *listed) bool {
	return !p.Standard && slices.ContainsFunc(slices.Concat(p.GoFiles, p.EmbedFiles), func(file string) bool { return r.replaced[p.file(file)] != "" })
}

func (p *listed) file(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// text returns the path of a file's current text.
func (r *runner) text(p *listed, name string) string {
	path := p.file(name)
	if replaced := r.replaced[path]; replaced != "" {
		return replaced
	}
	return path
}

// compile compiles one package as the go tool would.
func (r *runner) compile(ctx context.Context, p *listed, archives map[string]string, folder, archive string) error {
	if len(p.CgoFiles)+len(p.SFiles)+len(p.SysoFiles) > 0 || p.Module == nil {
		return fmt.Errorf("%w: %s is not pure Go", errNotRelinked, p.ImportPath)
	}
	lang := p.Module.GoVersion
	if parts := strings.SplitN(lang, ".", 3); len(parts) == 3 {
		lang = parts[0] + "." + parts[1]
	}
	path := p.path()
	if p.Name == "main" {
		path = "main"
	}
	args := append([]string{"-o", archive, "-p", path, "-lang=go" + lang, "-complete", "-nolocalimports", "-c=1", "-pack"}, unoptimizedFlags...)
	if len(p.EmbedPatterns) > 0 {
		config, err := r.embeds(p, folder)
		if err != nil {
			return err
		}
		args = append(args, "-embedcfg", config)
	}
	// File names are part of the export data.
	var names, texts []string
	for _, name := range p.GoFiles {
		text := r.text(p, name)
		if path := p.file(name); text != path {
			names = append(names, text+"=>"+path)
		}
		texts = append(texts, text)
	}
	args = append(args, "-trimpath", strings.Join(names, ";"))
	return r.tool(ctx, "compile", archives, folder, append(args, texts...)...)
}

// embeds writes the compiler's configuration for embedded files.
func (r *runner) embeds(p *listed, folder string) (string, error) {
	config := struct {
		Patterns map[string][]string
		Files    map[string]string
	}{map[string][]string{}, map[string]string{}}
	for _, pattern := range p.EmbedPatterns {
		var files []string
		for _, file := range p.EmbedFiles {
			if matches, err := path.Match(pattern, file); err == nil && matches {
				files = append(files, file)
				config.Files[file] = r.text(p, file)
			}
		}
		config.Patterns[pattern] = files
	}
	// A pattern that names a folder stands for the files below it.
	if len(config.Files) < len(p.EmbedFiles) {
		return "", fmt.Errorf("%w: %s embeds folders", errNotRelinked, p.ImportPath)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "embed.json")
	return path, os.WriteFile(path, raw, 0o600)
}

// tool runs the compiler or the linker.
func (r *runner) tool(ctx context.Context, name string, archives map[string]string, folder string, args ...string) error {
	var imports bytes.Buffer
	for path, archive := range archives {
		if archive != "" { // package unsafe has none
			fmt.Fprintf(&imports, "packagefile %s=%s\n", path, archive)
		}
	}
	config := filepath.Join(folder, "imports")
	if err := os.WriteFile(config, imports.Bytes(), 0o600); err != nil {
		return err
	}
	stdout, stderr, err := r.goTool(ctx, append([]string{"tool", name, "-importcfg", config}, args...)...)
	if err != nil {
		return fmt.Errorf("%w: %s: %w: %s", errNotRelinked, name, err, firstLine(string(stdout)+stderr))
	}
	return nil
}
