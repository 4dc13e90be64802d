package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Result is what happened to a mutant.
type Result struct {
	mutant
	// Caught: its test has failed. Otherwise the mutant has survived.
	Caught bool
	Took   time.Duration
	// breaks is the guarantee of the first marker whose line the mutant changes.
	breaks string
}

// String returns the mutant's row of the table: its name, the time, and the test that caught it. If
// it didn't, another line says what the mutant breaks.
func (r Result) String() string {
	row := fmt.Sprintf("%-30s %5.1fs  ", r.Name, r.Took.Seconds())
	if r.Caught {
		return row + r.Detector.Test
	}
	return fmt.Sprintf("%sNOT by %s\n  breaks: %s", row, r.Detector.Test, r.breaks)
}

// Run runs mutants of a source, several at once, and tells the result of each. Calls of tell don't
// overlap. The error is that of ctx, of the build, or of a test that fails without a mutant, too. Run leaves no
// process and no file behind.
func Run(ctx context.Context, source Source, list []mutant, parallel int, tell func(Result)) (err error) {
	folder, err := os.MkdirTemp("", "redlock-mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := source.build(ctx, list, folder); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(parallel)
	var detectors []detector // each once, with all mutants switched off
	for _, m := range list {
		if slices.Contains(detectors, m.Detector) {
			continue
		}
		detectors = append(detectors, m.Detector)
		all.Go(func() error {
			output, failed, err := source.detect(ctx, folder, m.Detector, "")
			if failed {
				err = fmt.Errorf("mutants: %s fails without a mutant, so no result counts: %s", m.Detector.Test, output)
			}
			return err
		})
	}
	var telling sync.Mutex
	for _, m := range list {
		all.Go(func() error {
			began := time.Now()
			_, failed, err := source.detect(ctx, folder, m.Detector, m.Name)
			if err != nil {
				return err
			}
			telling.Lock()
			defer telling.Unlock()
			first, _ := source.marker(m.Edits[0].Marker)
			tell(Result{m, failed, time.Since(began), first.Guarantee})
			return nil
		})
	}
	return all.Wait()
}

// build builds the test programs of the mutants' detectors in a folder, from a copy of the source in which the
// mutants can be switched on.
func (s Source) build(ctx context.Context, list []mutant, folder string) error {
	texts, err := s.switched(list)
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for file, text := range texts {
		other := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			return err
		}
		replace[s.path(file)] = other
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		return err
	}
	args := []string{"test", "-c", "-vet=off", "-ldflags", "-s -w", "-overlay", overlay, "-o", folder + string(filepath.Separator)}
	for _, m := range list {
		if !slices.Contains(args, m.Detector.Package) {
			args = append(args, m.Detector.Package)
		}
	}
	// The compiler and the linker end before most of their garbage is worth collecting.
	output, err := s.run(ctx, ".", []string{"GOWORK=off", "GOGC=400", "GOTMPDIR=" + folder, "TMPDIR=" + folder}, "go", args...)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("mutants: the test programs don't compile: %w: %s", err, output)
	}
	return err
}

// detect runs a detector with a mutant switched on, or with none, and says whether it has failed.
func (s Source) detect(ctx context.Context, folder string, d detector, mutant string) (output string, failed bool, err error) {
	// Detectors take seconds, and many times as long on a busy machine.
	output, err = s.run(ctx, d.Package, []string{switchVariable + "=" + mutant}, filepath.Join(folder, path.Base(d.Package)+".test"),
		"-test.failfast", "-test.run", d.Test, "-test.timeout", "10m")
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case exited && exit.Exited():
		return output, true, nil
	case err == nil && strings.Contains(output, "no tests to run"):
		return "", false, fmt.Errorf("mutants: %s has no test that matches %s", d.Package, d.Test)
	}
	return output, false, err
}

// run runs a program in a folder of the source and returns its output. When ctx ends, it interrupts the program, and
// kills it if it does not exit.
func (s Source) run(ctx context.Context, folder string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = s.path(folder), append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a detector may have started servers
	cmd.WaitDelay = 10 * time.Second                                      // also for the end of its output, on a busy machine
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return string(output), err
}
