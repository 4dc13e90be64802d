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

// runner builds one mutant, or the unmodified source, and runs detectors on it.
type runner struct {
	source  Source
	folder  string // for all files that it writes
	overlay string // "" for the unmodified source
	// replaced maps each changed file to the path of its new text.
	replaced map[string]string
	programs *programs
	cpu      time.Duration
	// binaries are the built programs by package, kind and build mode.
	binaries map[string]string
}

// timeout bounds one detector, in real time. Detectors take seconds.
const timeout = 3 * time.Minute

// errBuild is wrapped by the error for a mutant that doesn't compile.
var errBuild = errors.New("mutants: doesn't compile")

// unoptimized are the flags of most builds, because optimizing takes longer than it
// saves. A package's full test suite is built normally, because some tests count
// allocations.
var (
	unoptimized      = []string{"-gcflags", module + "/...=" + strings.Join(unoptimizedFlags, " ")}
	unoptimizedFlags = []string{"-N", "-l"}
)

// all is the pattern that matches all tests.
const all = "."

// simulate has the program in the folder detector run detectors, until one finds something.
func (r *runner) simulate(ctx context.Context, detectors []Detector) (found Detection, err error) {
	binary, err := r.build(ctx, "./simulation/internal/mutants/detector", false, true)
	if err != nil {
		return found, err
	}
	raw, err := json.Marshal(detectors)
	if err != nil {
		return found, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.folder, bytes.NewReader(raw), &stdout, &stderr
	switch err := r.run(ctx, cmd); {
	case err != nil && ctx.Err() == nil && died(stderr.String()):
		return Detection{By: "crash of the program", Says: firstLine(stderr.String())}, nil
	case err != nil:
		return found, fmt.Errorf("detector: %w: %s", err, firstLine(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
		return found, fmt.Errorf("detector: %w in %.100q", err, stdout.String())
	}
	if found.Error != "" {
		return found, fmt.Errorf("detector: %s", found.Error)
	}
	return found, nil
}

// died reports whether the Go runtime ended a program: a panic or a fatal error.
func died(stderr string) bool {
	return strings.Contains(stderr, "panic: ") || strings.Contains(stderr, "fatal error: ")
}

// test runs the tests of a package that the pattern matches.
func (r *runner) test(ctx context.Context, pkg, pattern string) (found Detection, err error) {
	binary, err := r.build(ctx, pkg, true, pattern != all)
	if err != nil {
		return found, err
	}
	var output bytes.Buffer
	cmd := exec.Command(binary, "-test.v", "-test.failfast", "-test.run", pattern, "-test.timeout", (timeout - 10*time.Second).String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.source.path(pkg), &output, &output
	err = r.run(ctx, cmd)
	found.Runs = strings.Count(output.String(), "=== RUN ")
	switch {
	case err == nil && found.Runs == 0:
		return found, fmt.Errorf("%s has no test that matches %s", pkg, pattern)
	case err == nil || ctx.Err() != nil:
		return found, err
	}
	if found.By, found.Says = failure(output.String()); found.By == "" {
		return found, fmt.Errorf("the tests of %s: %w: %s", pkg, err, lastLine(output.String()))
	}
	return found, nil
}

// build builds a package: its test program if test is set.
func (r *runner) build(ctx context.Context, pkg string, test, quick bool) (string, error) {
	key := fmt.Sprint(pkg, test, quick)
	if binary, ok := r.binaries[key]; ok {
		return binary, nil
	}
	binary := filepath.Join(r.folder, fmt.Sprintf("%s%d", path.Base(pkg), len(r.binaries)))
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	err := errNotRelinked
	if quick && r.overlay != "" {
		err = r.relink(ctx, pkg, test, binary)
	}
	if err != nil && ctx.Err() == nil {
		err = r.goBuild(ctx, pkg, test, quick, binary)
	}
	if err != nil {
		return "", err
	}
	if r.binaries == nil {
		r.binaries = map[string]string{}
	}
	r.binaries[key] = binary
	return binary, nil
}

// goBuild builds the program with the go tool.
func (r *runner) goBuild(ctx context.Context, pkg string, test, quick bool, binary string) error {
	args := []string{"build"}
	if test {
		args = []string{"test", "-c", "-vet=off"}
	}
	if quick {
		args = append(args, unoptimized...)
	}
	// Several mutants are built in parallel, so each build uses one processor.
	args = append(args, "-p", "1", "-ldflags", "-s -w", "-o", binary)
	if r.overlay != "" {
		args = append(args, "-overlay", r.overlay)
	}
	_, stderr, err := r.goTool(ctx, append(args, pkg)...)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", errBuild, compilerSays(stderr))
	}
	return err
}

// goTool runs the go command.
func (r *runner) goTool(ctx context.Context, args ...string) (stdout []byte, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.source.root, &out, &errs
	// The compiler and the linker end before most of their garbage is worth collecting.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOGC=400", "GOTMPDIR="+r.folder, "TMPDIR="+r.folder)
	err = r.run(ctx, cmd)
	return out.Bytes(), errs.String(), err
}

// run runs a command and adds its CPU time. When the context ends, it interrupts the
// command, and kills it if it does not exit.
func (r *runner) run(ctx context.Context, cmd *exec.Cmd) error {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
	defer cancel()
	bound := exec.CommandContext(limited, cmd.Path, cmd.Args[1:]...)
	bound.Dir, bound.Env, bound.Stdin, bound.Stdout, bound.Stderr = cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr
	bound.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return bound.Process.Kill()
		}
		return bound.Process.Signal(os.Interrupt)
	}
	bound.WaitDelay = 2 * time.Second
	err := bound.Run()
	if state := bound.ProcessState; state != nil {
		r.cpu += state.UserTime() + state.SystemTime()
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
	says = said[test]
	if test == "" && died(output) {
		at := strings.Index(output, "panic: ")
		if at < 0 {
			at = strings.Index(output, "fatal error: ")
		}
		return running, firstLine(output[at:])
	}
	return test, says
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
