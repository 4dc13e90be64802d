package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is the client program, built with a checkout of the library.
type program struct {
	path    string
	version string // a commit, if git knows it
}

// assigned runs a program with a task as its standard input. The result is its output.
func assigned(ctx context.Context, task, result any, path string, args ...string) error {
	input, err := json.Marshal(task)
	if err != nil {
		return err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(path), err, tail(errs.String()))
	}
	return json.Unmarshal(out.Bytes(), result)
}

// tail shortens a program's output.
func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return text
}

// builder builds the client program into a folder of its own.
type builder struct {
	module string // the folder of this module
	dir    string
}

func newBuilder(ctx context.Context) (*builder, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("building the client program takes the go command: %w", err)
	}
	module := filepath.Dir(strings.TrimSpace(string(out)))
	if _, err := os.Stat(filepath.Join(module, "client", "program")); err != nil {
		return nil, fmt.Errorf("the client program is built from its source, in the module's folder; start this with go -C simulation/bench run . (%w)", err)
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	return &builder{module, dir}, nil
}

func (b *builder) close() error { return os.RemoveAll(b.dir) }

// build builds the program with the checkout that this module is part of, or with another one.
func (b *builder) build(ctx context.Context, checkout string) (program, error) {
	root, name := filepath.Join(b.module, "..", ".."), "this"
	args := []string{"build", "-o"}
	if checkout == "" {
		args = append(args, filepath.Join(b.dir, name))
	} else {
		var err error
		if root, err = filepath.Abs(checkout); err != nil {
			return program{}, err
		}
		name = "other"
		mod := filepath.Join(b.dir, "other.mod")
		if err := b.modfile(ctx, root, mod); err != nil {
			return program{}, err
		}
		args = append(args, filepath.Join(b.dir, name), "-mod=mod", "-modfile="+mod)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./client/program")...)
	cmd.Dir = b.module
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("building the client program with the library in %s: %w: %s", root, err, tail(string(out)))
	}
	return program{filepath.Join(b.dir, name), version(ctx, root)}, nil
}

// modfile writes a copy of this module's go.mod that takes the library from another checkout,
// and a go.sum with what either needs.
func (b *builder) modfile(ctx context.Context, root, mod string) error {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+libraryModule+"\n")) {
		return fmt.Errorf("%s is no checkout of this repository", root)
	}
	text, err = os.ReadFile(filepath.Join(b.module, "go.mod"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(mod, text, 0o644); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-replace="+libraryModule+"="+root, mod).CombinedOutput(); err != nil {
		return fmt.Errorf("go mod edit: %w: %s", err, tail(string(out)))
	}
	var sums []byte
	for _, file := range []string{filepath.Join(b.module, "go.sum"), filepath.Join(root, "go.sum")} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sums = append(sums, text...)
	}
	return os.WriteFile(strings.TrimSuffix(mod, ".mod")+".sum", sums, 0o644)
}

const libraryModule = "github.com/redquorum/redlock"

// version names a checkout by its commit, and says if it has been changed since. Without git it is
// unknown.
func version(ctx context.Context, root string) string {
	commit, _ := exec.CommandContext(ctx, "git", "-C", root, "describe", "--always", "--dirty", "--exclude=*").Output() // "" without git
	return cmp.Or(strings.TrimSpace(string(commit)), "unknown")
}

// cpu is the model of the processor, "" where the system doesn't tell it.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "\t :"))
}
