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
	"syscall"
	"time"
)

// timeout bounds a build, and a detector, in real time. Detectors take seconds.
const timeout = 3 * time.Minute

// errBuild is wrapped by the error for a source that doesn't compile.
var errBuild = errors.New("mutants: doesn't compile")

// build has the test programs of packages, built with changed files.
type build struct {
	source Source
	folder string // of the programs
}

// build builds the test programs of packages with other texts of files, in a folder that it
// makes. It adds the processor time that it took.
func (s Source) build(ctx context.Context, texts map[string]string, folder string, packages []string, cpu *time.Duration) (*build, error) {
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
	switch err := run(ctx, cmd, cpu); {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %s", errBuild, compilerSays(output.String()))
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

// patched is the test program of a package in another folder, with other texts of its scripts.
func (b *build) patched(pkg string, scripts []script, folder string) (*build, error) {
	raw, err := os.ReadFile(b.program(pkg))
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		if n := bytes.Count(raw, []byte(s.original)); n != 1 {
			return nil, fmt.Errorf("mutants: the test program of %s has a script %d times, want once", pkg, n)
		}
		raw = bytes.Replace(raw, []byte(s.original), []byte(s.mutated), 1)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	other := &build{source: b.source, folder: folder}
	// A process that is forked meanwhile would have the file open, and it couldn't be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return other, os.WriteFile(other.program(pkg), raw, 0o700) //nolint:gosec // it is a program
}

// program is the path of a package's test program.
func (b *build) program(pkg string) string {
	program := filepath.Join(b.folder, path.Base(pkg)+".test")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	return program
}

// detect runs a detector with a mutant switched on, or with none, and adds what it found.
func (b *build) detect(ctx context.Context, d Detector, mutant string, r *Result) error {
	var output bytes.Buffer
	cmd := exec.Command(b.program(d.Package), "-test.v", "-test.failfast", "-test.run", d.Test, "-test.timeout", (timeout - 10*time.Second).String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.source.path(d.Package), &output, &output
	cmd.Env = append(os.Environ(), switchVariable+"="+mutant)
	err := run(ctx, cmd, &r.CPU)
	switch {
	case err == nil && !strings.Contains(output.String(), "=== RUN "):
		return fmt.Errorf("%s has no test that matches %s", d.Package, d.Test)
	case err == nil || ctx.Err() != nil:
		return err
	}
	by, says := failure(output.String())
	if by == "" {
		return fmt.Errorf("the tests of %s: %w: %s", d.Package, err, lastLine(output.String()))
	}
	r.Outcome, r.By, r.Says = outcomeCaught, by, brief(says)
	return nil
}

// run runs a command and adds its processor time. When the context ends, it interrupts the
// command, and kills it if it does not exit.
func run(ctx context.Context, cmd *exec.Cmd, cpu *time.Duration) error {
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
	bound.WaitDelay = 2 * time.Second
	err := bound.Run()
	if state := bound.ProcessState; state != nil {
		*cpu += state.UserTime() + state.SystemTime()
	}
	if limited.Err() != nil {
		return context.Cause(limited)
	}
	return err
}

var (
	// begun matches the line before a test's messages, message the first line of a
	// message, and failed the line that reports the failure.
	begun   = regexp.MustCompile(`^=== (?:RUN|NAME|CONT)\s+(\S+)`)
	failed  = regexp.MustCompile(`^\s*--- FAIL: (\S+) \(`)
	message = regexp.MustCompile(`^\s+\S+\.go:\d+: ?(.*)$`)
)

// failure parses the output of -test.v. It returns the first failed test, the innermost
// one, and its message.
func failure(output string) (test, says string) {
	lines := strings.Split(output, "\n")
	said, running := map[string]string{}, ""
	for i, line := range lines {
		if m := begun.FindStringSubmatch(line); m != nil {
			running = m[1]
		} else if m := failed.FindStringSubmatch(line); m != nil {
			if !strings.HasPrefix(m[1], test) { // not a parent of the failed test
				break
			}
			test = m[1]
		} else if m := message.FindStringSubmatch(line); m != nil {
			if said[running] = m[1]; m[1] == "" {
				said[running] = assertion(lines[i+1:])
			}
		}
	}
	if at := max(strings.Index(output, "panic: "), strings.Index(output, "fatal error: ")); test == "" && at >= 0 {
		return running, firstLine(output[at:])
	}
	return test, said[test]
}

// assertion returns the error and the message that testify prints, without the trace.
func assertion(lines []string) string {
	var said []string
	reading := false
	for _, line := range lines {
		line = strings.TrimSpace(line)
		label, rest, _ := strings.Cut(line, ":")
		switch label {
		case "Error Trace":
			reading = false
			continue
		case "Error", "Messages":
			reading, line = true, rest
		case "Test":
			reading = false
			continue
		}
		if line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "===") {
			break
		}
		if line = strings.TrimSpace(line); reading && line != "" {
			said = append(said, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(said, " ")
}

// compilerSays returns the compiler's first error, without the package's name.
func compilerSays(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no output"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// brief returns the first line of a text, at most about 500 characters.
func brief(text string) string {
	text = firstLine(text)
	if len(text) <= 500 {
		return text
	}
	return strings.ToValidUTF8(text[:500], "") + " ..."
}
