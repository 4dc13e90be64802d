package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// programs are test programs with all mutants, switched off.
type programs struct {
	source  source
	folder  string                    // for what is built
	build   map[string]func() error   // by package, once
	without map[detector]func() error // the detector's run without a mutant, once
}

// prepare writes a copy of the source in which the mutants can be switched on into a folder.
func (s source) prepare(ctx context.Context, folder string, list []mutant) (programs, error) {
	p := programs{s, folder, map[string]func() error{}, map[detector]func() error{}}
	texts, err := s.switched(list)
	if err != nil {
		return p, err
	}
	replace := map[string]string{}
	for file, text := range texts {
		other := filepath.Join(folder, flat(file))
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			return p, err
		}
		replace[s.path(file)] = other
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return p, err
	}
	for _, m := range list {
		d := m.Detector
		if p.build[d.Package] == nil {
			p.build[d.Package] = sync.OnceValue(func() error {
				output, err := p.run(ctx, ".", nil, "go", "test", "-c", "-vet=off", "-ldflags", "-s -w", "-overlay", filepath.Join(folder, "overlay.json"), "-o", p.path(d), d.Package)
				if err != nil {
					return fmt.Errorf("mutants: the tests of %s don't compile: %w: %s", d.Package, err, output)
				}
				return nil
			})
		}
		if p.without[d] == nil {
			p.without[d] = sync.OnceValue(func() error {
				output, failed, err := p.detect(ctx, d, "")
				if failed {
					return fmt.Errorf("mutants: %s fails without a mutant, so no result counts: %s", d.Test, output)
				}
				return err
			})
		}
	}
	return p, os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o600)
}

// flat is a path as the name of one file.
func flat(path string) string { return strings.NewReplacer("/", "_", ".", "_").Replace(path) }

// path is that of a detector's program.
func (p programs) path(d detector) string { return filepath.Join(p.folder, flat(d.Package)+".test") }

// caught reports whether the detector of a mutant fails with it, and only then.
func (p programs) caught(ctx context.Context, m mutant) (bool, error) {
	if err := p.build[m.Detector.Package](); err != nil {
		return false, err
	}
	if err := p.without[m.Detector](); err != nil {
		return false, err
	}
	_, failed, err := p.detect(ctx, m.Detector, m.Name)
	return failed, err
}

// detect runs a detector with a mutant switched on, or with none, and says whether it has failed.
func (p programs) detect(ctx context.Context, d detector, mutant string) (output string, failed bool, err error) {
	// Detectors take seconds, and many times as long on a busy machine.
	output, err = p.run(ctx, d.Package, []string{switchVariable + "=" + mutant}, p.path(d), "-test.failfast", "-test.run", d.Test, "-test.timeout", "10m")
	if exit, exited := errors.AsType[*exec.ExitError](err); exited && exit.Exited() {
		return output, true, nil
	}
	return output, false, err
}

// run runs a program in a folder of the source and returns its output.
func (p programs) run(ctx context.Context, folder string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = p.source.path(folder), append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
