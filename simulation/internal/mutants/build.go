package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// timeout bounds a build, and a detector, in real time. Detectors take seconds, and builds a minute or two; all of
// them take many times as long on a busy machine.
const timeout = 10 * time.Minute

// errBuild is wrapped by the error for a source that doesn't compile.
var errBuild = errors.New("mutants: doesn't compile")

// build has the test programs of packages, built with changed files.
type build struct {
	source Source
	folder string // of the programs
}

// build builds the test programs of packages with other texts of files, in a folder that it
// makes.
func (s Source) build(ctx context.Context, texts map[string]string, folder string, packages []string) (*build, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	overlay, err := s.overlay(texts, folder)
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	args := []string{"test", "-c", "-vet=off", "-ldflags", "-s -w", "-overlay", overlay, "-o", folder + string(filepath.Separator)}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.root, &output, &output
	// The compiler and the linker end before most of their garbage is worth collecting.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOGC=400", "GOTMPDIR="+folder, "TMPDIR="+folder)
	switch err := run(ctx, cmd); {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %s", errBuild, strings.TrimSpace(output.String()))
	}
	return &build{source: s, folder: folder}, nil
}

// overlay writes texts of files and the go tool's overlay file into a folder, and returns the
// overlay's path.
func (s Source) overlay(texts map[string]string, folder string) (string, error) {
	replace := map[string]string{}
	for file, text := range texts {
		changed := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[s.path(file)] = changed
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// program is the path of a package's test program.
func (b *build) program(pkg string) string {
	program := filepath.Join(b.folder, path.Base(pkg)+".test")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	return program
}

// detect runs a detector with a mutant switched on, or with none, and returns the test that
// failed, or "".
func (b *build) detect(ctx context.Context, d Detector, mutant string) (by string, err error) {
	var output bytes.Buffer
	cmd := exec.Command(b.program(d.Package), "-test.v", "-test.failfast", "-test.run", d.Test, "-test.timeout", (timeout - 10*time.Second).String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.source.path(d.Package), &output, &output
	cmd.Env = append(os.Environ(), switchVariable+"="+mutant)
	err = run(ctx, cmd)
	switch {
	case err == nil && !strings.Contains(output.String(), "=== RUN "):
		return "", fmt.Errorf("%s has no test that matches %s", d.Package, d.Test)
	case err == nil || ctx.Err() != nil:
		return "", err
	}
	if by = failure(output.String()); by == "" {
		return "", fmt.Errorf("the tests of %s: %w: %s", d.Package, err, tail(output.String()))
	}
	return by, nil
}

// run runs a command. When the context ends, it interrupts the command, and kills it if it does
// not exit.
func run(ctx context.Context, cmd *exec.Cmd) error {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
	defer cancel()
	bound := exec.CommandContext(limited, cmd.Path, cmd.Args[1:]...)
	bound.Dir, bound.Env, bound.Stdout, bound.Stderr = cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr
	bound.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return bound.Process.Kill()
		}
		return bound.Process.Signal(os.Interrupt)
	}
	bound.WaitDelay = 10 * time.Second // also for the end of its output, on a busy machine
	if err := bound.Run(); limited.Err() == nil {
		return err
	}
	return context.Cause(limited)
}

var (
	// begun matches the line before a test's messages, failed the line that reports a failure, and
	// ended the line with which a program ends without one.
	begun  = regexp.MustCompile(`(?m)^=== (?:RUN|NAME|CONT)\s+(\S+)`)
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+) \(`)
	ended  = regexp.MustCompile(`(?m)^(?:panic|fatal error): `)
)

// failure returns the first failed test in the output of -test.v, the innermost one, or the test
// during which the program ended.
func failure(output string) (test string) {
	for _, m := range failed.FindAllStringSubmatch(output, -1) {
		if !strings.HasPrefix(m[1], test) { // not a part of the failed test
			break
		}
		test = m[1]
	}
	if at := ended.FindStringIndex(output); test == "" && at != nil {
		for _, m := range begun.FindAllStringSubmatch(output[:at[0]], -1) {
			test = m[1]
		}
	}
	return test
}

// tail returns the end of a program's output.
func tail(text string) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[max(0, len(text)-500):], "")
}
