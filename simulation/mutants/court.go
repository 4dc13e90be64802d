package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// court builds one mutant, or the source as it is, and hears judges on it.
type court struct {
	source  Source
	folder  string // for whatever is written
	overlay string // "" for the source as it is
	// replaced has the path of each text that the mutant has instead of a file's.
	replaced map[string]string
	programs *programs
	cpu      time.Duration
	// binaries are what was built, by package and way.
	binaries map[string]string
}

// patience is how long one judge may take, in real time. It takes seconds.
const patience = 3 * time.Minute

// errBuild is wrapped by the error for a mutant that doesn't compile.
var errBuild = errors.New("it doesn't compile")

// hasty is how most is built: what the compiler would make quicker, it takes longer to
// make than is won. All tests of a package must be built as usual, for some of them
// count allocations.
var (
	hasty      = []string{"-gcflags", module + "/...=" + strings.Join(hastyFlags, " ")}
	hastyFlags = []string{"-N", "-l"}
)

// all is the pattern of all tests.
const all = "."

// play has the trial play an order.
func (c *court) play(ctx context.Context, order Order) (Verdict, error) {
	binary, err := c.build(ctx, "./simulation/mutants/trial", false, true)
	if err != nil {
		return Verdict{}, err
	}
	raw, err := json.Marshal(order)
	if err != nil {
		return Verdict{}, err
	}
	var stdout, stderr bytes.Buffer
	err = c.run(ctx, exec.Command(binary), c.folder, bytes.NewReader(raw), &stdout, &stderr)
	if err != nil && ctx.Err() == nil && died(stderr.String()) {
		return Verdict{By: "the program's death", Says: firstLine(stderr.String())}, nil
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("trial: %w: %s", err, firstLine(stderr.String()))
	}
	var v Verdict
	if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
		return Verdict{}, fmt.Errorf("trial: %w in %.100q", err, stdout.String())
	}
	if v.Error != "" {
		return Verdict{}, fmt.Errorf("trial: %s", v.Error)
	}
	return v, nil
}

// died reports whether a program's last words are those of the Go runtime.
func died(stderr string) bool {
	return strings.Contains(stderr, "panic: ") || strings.Contains(stderr, "fatal error: ")
}

// test runs a package's tests: those that the pattern names, or all.
func (c *court) test(ctx context.Context, pkg, pattern string) (Verdict, error) {
	binary, err := c.build(ctx, pkg, true, pattern != all)
	if err != nil {
		return Verdict{}, err
	}
	var stdout bytes.Buffer
	cmd := exec.Command(binary, "-test.v", "-test.failfast", "-test.run", pattern, "-test.timeout", (patience - 10*time.Second).String())
	err = c.run(ctx, cmd, c.source.path(pkg), nil, &stdout, &stdout)
	v := Verdict{Runs: strings.Count(stdout.String(), "=== RUN ")}
	switch {
	case err == nil && v.Runs == 0:
		return v, fmt.Errorf("%s has no test that matches %s", pkg, pattern)
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return v, err
	}
	v.By, v.Says = failure(stdout.String())
	if v.By == "" {
		return v, fmt.Errorf("the tests of %s: %w: %s", pkg, err, lastLine(stdout.String()))
	}
	return v, nil
}

// build makes a program of a package, its test program if test is set.
func (c *court) build(ctx context.Context, pkg string, test, quick bool) (string, error) {
	key := fmt.Sprint(pkg, test, quick)
	if binary, ok := c.binaries[key]; ok {
		return binary, nil
	}
	binary := filepath.Join(c.folder, fmt.Sprintf("%s%d", path.Base(pkg), len(c.binaries)))
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	err := errNotRelinked
	if quick && c.overlay != "" {
		err = c.relink(ctx, pkg, test, binary)
	}
	if err != nil && ctx.Err() == nil {
		err = c.goBuild(ctx, pkg, test, quick, binary)
	}
	if err != nil {
		return "", err
	}
	if c.binaries == nil {
		c.binaries = map[string]string{}
	}
	c.binaries[key] = binary
	return binary, nil
}

// goBuild has the go tool make the program.
func (c *court) goBuild(ctx context.Context, pkg string, test, quick bool, binary string) error {
	args := []string{"build"}
	if test {
		args = []string{"test", "-c", "-vet=off"}
	}
	if quick {
		args = append(args, hasty...)
	}
	// Several mutants are built at once, so that each gets one processor.
	args = append(args, "-p", "1", "-ldflags", "-s -w", "-o", binary)
	if c.overlay != "" {
		args = append(args, "-overlay", c.overlay)
	}
	var output bytes.Buffer
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTMPDIR="+c.folder)
	if err := c.run(ctx, cmd, c.source.root, nil, &output, &output); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w: %s", errBuild, compilerSays(output.String()))
	}
	return nil
}

// run runs a command, and adds up what it cost. When the context ends the command is
// asked to end, and ended if it doesn't.
func (c *court) run(ctx context.Context, cmd *exec.Cmd, dir string, in io.Reader, out, errs io.Writer) error {
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it didn't end in %v", patience))
	defer cancel()
	bound := exec.CommandContext(limited, cmd.Path, cmd.Args[1:]...)
	bound.Dir, bound.Env, bound.Stdin, bound.Stdout, bound.Stderr = dir, cmd.Env, in, out, errs
	bound.Cancel = func() error {
		if runtime.GOOS == "windows" {
			return bound.Process.Kill()
		}
		return bound.Process.Signal(os.Interrupt)
	}
	bound.WaitDelay = 2 * time.Second
	err := bound.Run()
	if state := bound.ProcessState; state != nil {
		c.cpu += state.UserTime() + state.SystemTime()
	}
	if limited.Err() != nil {
		return context.Cause(limited)
	}
	return err
}

var (
	// begun is the line behind which a test's messages stand, message is the first line
	// of one, and failed tells of its failure.
	begun   = regexp.MustCompile(`^=== (?:RUN|NAME|CONT)\s+(\S+)`)
	failed  = regexp.MustCompile(`^\s*--- FAIL: (\S+) \(`)
	message = regexp.MustCompile(`^\s+\S+\.go:\d+: ?(.*)$`)
)

// failure reads the first failed test, the innermost one, and what it says, from what
// a test program writes with -test.v.
func failure(output string) (test, says string) {
	lines := strings.Split(output, "\n")
	said, running := map[string]string{}, ""
	for i, line := range lines {
		if m := begun.FindStringSubmatch(line); m != nil {
			running = m[1]
		} else if m := failed.FindStringSubmatch(line); m != nil {
			if !strings.HasPrefix(m[1], test) { // no part of the one before
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

// assertion reads what testify says: the error, without where it was, and the message.
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

// compilerSays is the first thing that a compiler says, without the package's name.
func compilerSays(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "and says nothing"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
