package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A mutant changes one package, rarely two. The go tool compiles all packages anew that
// import these: most of what a mutant costs. None of that is needed where the mutant
// changes no package's export data, which is all that the compiler reads of an imported
// package. So a program is made of the archives of the source as it is, but for the
// packages that the mutant changes.
//
// The linker checks that this is right: each archive has a hash of the export data of
// every package that it was compiled with, and the linker refuses a program in which one
// differs. Then, and on any other error, the go tool builds the program. Nothing is
// inlined across packages of the module (see hasty), and what one function's escape
// analysis tells of its parameters is export data, too.

// program is a program of the source as it is: the main package and what it imports, each
// package after those that it imports.
type program struct{ packages []listed }

// listed is what go list says of a package.
type listed struct {
	ImportPath, Name, Dir, ForTest, Export string
	Standard                               bool
	GoFiles, EmbedFiles, EmbedPatterns     []string
	CgoFiles, SFiles, SysoFiles            []string
	DefaultGODEBUG                         string
	Module                                 *struct{ GoVersion string }
}

// path is what the package is called in a program: without the test that it was compiled
// for.
func (p *listed) path() string {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return path
}

var errNotRelinked = errors.New("it can't be relinked")

// programs lists each program once.
type programs struct {
	mu   sync.Mutex
	list map[string]func() (*program, error)
}

func (p *programs) of(key string, list func() (*program, error)) (*program, error) {
	p.mu.Lock()
	if p.list == nil {
		p.list = map[string]func() (*program, error){}
	}
	once, ok := p.list[key]
	if !ok {
		once = sync.OnceValues(list)
		p.list[key] = once
	}
	p.mu.Unlock()
	return once()
}

// relink makes a program of a package, its test program if test is set.
func (c *court) relink(ctx context.Context, pkg string, test bool, binary string) error {
	p, err := c.programs.of(fmt.Sprint(pkg, test), func() (*program, error) { return c.list(ctx, pkg, test) })
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(c.folder, "relink-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // Run tells, if the folder above it stays
	archives := map[string]string{}
	for i := range p.packages {
		archives[p.packages[i].path()] = p.packages[i].Export
	}
	for i := range p.packages {
		changed := &p.packages[i]
		if !c.changes(changed) {
			continue
		}
		archive := filepath.Join(folder, fmt.Sprintf("%d.a", i))
		if err := c.compile(ctx, changed, archives, folder, archive); err != nil {
			return err
		}
		archives[changed.path()] = archive
	}
	main := &p.packages[len(p.packages)-1]
	args := []string{"-o", binary, "-s", "-w"}
	if test {
		args = append(args, "-X", "testing.testBinary=1")
	}
	if main.DefaultGODEBUG != "" {
		args = append(args, "-X", "runtime.godebugDefault="+main.DefaultGODEBUG)
	}
	return c.tool(ctx, "link", archives, folder, append(args, archives[main.path()])...)
}

// list has the source as it is compiled, and lists what the program is made of.
func (c *court) list(ctx context.Context, pkg string, test bool) (*program, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Name,Dir,ForTest,Export,Standard,GoFiles,EmbedFiles,EmbedPatterns,CgoFiles,SFiles,SysoFiles,DefaultGODEBUG,Module"}, hasty...)
	if test {
		args = append(args, "-test")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTMPDIR="+c.folder)
	if err := c.run(ctx, cmd, c.source.root, nil, &stdout, &stderr); err != nil {
		return nil, fmt.Errorf("%w: %w: %s", errNotRelinked, err, firstLine(stderr.String()))
	}
	p := &program{}
	for dec := json.NewDecoder(&stdout); dec.More(); {
		var l listed
		if err := dec.Decode(&l); err != nil {
			return nil, fmt.Errorf("%w: %w", errNotRelinked, err)
		}
		p.packages = append(p.packages, l)
	}
	if test {
		// What was compiled for the test takes the place of what was not.
		for _, l := range slices.Clone(p.packages) {
			if l.ForTest != "" {
				p.packages = slices.DeleteFunc(p.packages, func(other listed) bool { return other.ImportPath == l.path() && other.ForTest == "" })
			}
		}
	}
	if len(p.packages) == 0 || p.packages[len(p.packages)-1].Name != "main" {
		return nil, fmt.Errorf("%w: %s is no program", errNotRelinked, pkg)
	}
	return p, nil
}

// changes reports whether the mutant changes a file of the package.
func (c *court) changes(p *listed) bool {
	return !p.Standard && slices.ContainsFunc(slices.Concat(p.GoFiles, p.EmbedFiles), func(file string) bool { return c.replaced[p.file(file)] != "" })
}

func (p *listed) file(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// text is where the text of a package's file is.
func (c *court) text(p *listed, name string) string {
	path := p.file(name)
	if replaced := c.replaced[path]; replaced != "" {
		return replaced
	}
	return path
}

// compile compiles one package as the go tool would.
func (c *court) compile(ctx context.Context, p *listed, archives map[string]string, folder, archive string) error {
	if len(p.CgoFiles)+len(p.SFiles)+len(p.SysoFiles) > 0 || p.Module == nil {
		return fmt.Errorf("%w: %s isn't Go alone", errNotRelinked, p.ImportPath)
	}
	lang := p.Module.GoVersion
	if parts := strings.SplitN(lang, ".", 3); len(parts) == 3 {
		lang = parts[0] + "." + parts[1]
	}
	path := p.path()
	if p.Name == "main" {
		path = "main"
	}
	args := append([]string{"-o", archive, "-p", path, "-lang=go" + lang, "-complete", "-nolocalimports", "-c=1", "-pack"}, hastyFlags...)
	if len(p.EmbedPatterns) > 0 {
		config, err := c.embeds(p, folder)
		if err != nil {
			return err
		}
		args = append(args, "-embedcfg", config)
	}
	// The names of the files are export data.
	var names, texts []string
	for _, name := range p.GoFiles {
		text := c.text(p, name)
		if path := p.file(name); text != path {
			names = append(names, text+"=>"+path)
		}
		texts = append(texts, text)
	}
	args = append(args, "-trimpath", strings.Join(names, ";"))
	return c.tool(ctx, "compile", archives, folder, append(args, texts...)...)
}

// embeds writes what tells the compiler of embedded files.
func (c *court) embeds(p *listed, folder string) (string, error) {
	config := struct {
		Patterns map[string][]string
		Files    map[string]string
	}{map[string][]string{}, map[string]string{}}
	for _, pattern := range p.EmbedPatterns {
		if !slices.Contains(p.EmbedFiles, pattern) {
			return "", fmt.Errorf("%w: %s embeds %s, which isn't one file", errNotRelinked, p.ImportPath, pattern)
		}
		config.Patterns[pattern] = []string{pattern}
		config.Files[pattern] = c.text(p, pattern)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "embed.json")
	return path, os.WriteFile(path, raw, 0o600)
}

// tool runs the compiler or the linker.
func (c *court) tool(ctx context.Context, name string, archives map[string]string, folder string, args ...string) error {
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
	var output bytes.Buffer
	cmd := exec.Command("go", append([]string{"tool", name, "-importcfg", config}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "TMPDIR="+c.folder)
	if err := c.run(ctx, cmd, c.source.root, nil, &output, &output); err != nil {
		return fmt.Errorf("%w: %s: %w: %s", errNotRelinked, name, err, firstLine(output.String()))
	}
	return nil
}
