package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Result is what happened to a mutant.
type Result struct {
	Name string
	// Guarantee is the text of the first marker whose line the mutant changes.
	Guarantee string
	Expected  string
	// By is the test that caught it, "" if it has survived. Err is why that isn't known: the mutant
	// is stale or doesn't compile, or its detector could not run.
	By   string
	Err  error
	Took time.Duration
}

// Caught reports whether a test caught the mutant.
func (r Result) Caught() bool { return r.Err == nil && r.By != "" }

// String returns the mutant's row of the table: its name, the time, and the test that caught it. If
// none did, more lines say what happened.
func (r Result) String() string {
	by := r.By
	switch {
	case r.Err != nil:
		by = fmt.Sprintf("ERROR\n  breaks: %s\n  %v", r.Guarantee, r.Err)
	case r.By == "":
		by = fmt.Sprintf("NOT by %s\n  breaks: %s", r.Expected, r.Guarantee)
	}
	return fmt.Sprintf("%-30s %5.1fs  %s", r.Name, r.Took.Seconds(), by)
}

// ErrUnmodified: a detector fails without any mutant, so no other result counts.
var ErrUnmodified = errors.New("mutants: the unmodified source is caught")

// Run runs mutants of a source, several at once, and tells the result of each. Calls of tell don't
// overlap. The error is that of ctx, of writing files, of a build that all mutants share, or
// ErrUnmodified. Run leaves no process and no file behind.
func Run(ctx context.Context, source Source, list []mutant, parallel int, tell func(Result)) (err error) {
	folder, err := os.MkdirTemp("", "redlock-mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	texts, apart, err := source.together(list)
	if err != nil {
		return err
	}
	var packages []string
	for _, m := range list {
		if !slices.Contains(packages, m.Detector.Package) {
			packages = append(packages, m.Detector.Package)
		}
	}
	shared, err := source.build(ctx, texts, filepath.Join(folder, "shared"), packages)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(parallel)
	all.Go(func() error { return shared.unmodified(ctx, list) })
	var telling sync.Mutex
	for _, m := range list {
		all.Go(func() error {
			began := time.Now()
			r := Result{Name: m.Name, Guarantee: source.Guarantee(m), Expected: m.Detector.String()}
			if slices.Contains(apart, m.Name) {
				r.By, r.Err = source.alone(ctx, m, filepath.Join(folder, m.Name))
			} else {
				r.By, r.Err = shared.detect(ctx, m.Detector, m.Name)
			}
			if ctx.Err() != nil {
				return ctx.Err() // there is no result
			}
			r.Took = time.Since(began)
			telling.Lock()
			defer telling.Unlock()
			tell(r)
			return nil
		})
	}
	return all.Wait()
}

// unmodified runs the detectors with all mutants switched off.
func (b *build) unmodified(ctx context.Context, list []mutant) error {
	var detectors []Detector // each once
	for _, m := range list {
		if slices.Contains(detectors, m.Detector) {
			continue
		}
		detectors = append(detectors, m.Detector)
		by, err := b.detect(ctx, m.Detector, "")
		if err == nil && by != "" {
			err = fmt.Errorf("%w by %s", ErrUnmodified, by)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// alone runs the detector of a mutant that is built on its own.
func (s Source) alone(ctx context.Context, m mutant, folder string) (by string, err error) {
	texts, err := s.mutated(m)
	if err != nil {
		return "", err
	}
	b, err := s.build(ctx, texts, folder, []string{m.Detector.Package})
	defer os.RemoveAll(folder) //nolint:errcheck // Run reports it if it stays
	if err != nil {
		return "", err
	}
	return b.detect(ctx, m.Detector, "")
}
