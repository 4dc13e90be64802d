package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/origin"
)

// program is the client program of a checkout.
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

// build builds the client program of a checkout into a folder.
func build(ctx context.Context, root, folder string) (p program, err error) {
	root, err = filepath.Abs(root)
	p = program{path: filepath.Join(folder, "client"), version: origin.Commit(ctx, root)}
	if err != nil {
		return p, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.path, "./client/program")
	cmd.Dir = filepath.Join(root, "simulation", "bench")
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("building the client program of %s, which has to be a checkout of this repository: %w: %s", root, err, tail(string(out)))
	}
	return p, nil
}
