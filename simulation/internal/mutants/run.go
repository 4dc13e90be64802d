package mutants

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// outcome says what happened to a mutant.
type outcome string

// The outcomes.
const (
	// outcomeCaught: its detector failed.
	outcomeCaught outcome = "caught"
	// outcomeSurvived: its detector passed.
	outcomeSurvived outcome = "survived"
	// outcomeBroken: the mutant is stale or doesn't compile, or its detector could not run.
	outcomeBroken outcome = "error"
)

// Result is the result of a mutant.
type Result struct {
	Name string
	// Guarantee is the text of the first marker whose line the mutant changes.
	Guarantee string
	Expected  string
	Outcome   outcome
	// By is the test that caught it. Err is why there is no outcome.
	By   string
	Err  error
	Took time.Duration
}

// Report is the result of all mutants.
type Report struct {
	// Unbroken is the result of the unmodified source. Its outcome must be Survived.
	Unbroken Result
	Results  []Result
	// Planned is the number of mutants to run. There are fewer Results if the run was
	// interrupted.
	Planned int
	Took    time.Duration
}

// OK reports whether no detector failed on the unmodified source and every mutant was caught.
func (r Report) OK() bool {
	return len(r.Results) >= r.Planned && r.Unbroken.Outcome == outcomeSurvived && !slices.ContainsFunc(r.Results, func(r Result) bool { return r.Outcome != outcomeCaught })
}

// Options configure Run.
type Options struct {
	// Mutants are those to run.
	Mutants []mutant
	// Parallel is how many mutants run at once.
	Parallel int
	// Progress is called with the result of each mutant, and not after the context has ended.
	// Calls do not overlap.
	Progress func(Result)
}

// Run runs mutants of a source. The error is that of ctx, of writing files, or of building the
// unmodified source. An error of one mutant is in its Result. When ctx ends, the Report has the
// finished results. Run leaves no process and no file behind.
func Run(ctx context.Context, source Source, o Options) (report Report, err error) {
	folder, err := os.MkdirTemp("", "redlock-mutants-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	began := time.Now()
	s := session{source: source, options: o}
	report.Planned = len(o.Mutants)
	unmodified, err := s.prepare(ctx, folder)
	if err != nil {
		return report, err
	}
	report.Results = make([]Result, report.Planned)
	var all errgroup.Group
	all.SetLimit(o.Parallel)
	all.Go(func() error {
		report.Unbroken = play(ctx, Result{Guarantee: "the unmodified source"}, func() (string, error) {
			return s.unbroken(ctx, unmodified)
		})
		return nil
	})
	for i, m := range o.Mutants {
		all.Go(func() error {
			r := Result{Name: m.Name, Guarantee: source.Guarantee(m), Expected: m.Detector.String()}
			report.Results[i] = play(ctx, r, func() (string, error) {
				return s.mutant(ctx, m, filepath.Join(folder, m.Name))
			})
			s.notify(report.Results[i])
			return nil
		})
	}
	_ = all.Wait() // a Result has its error
	// Interrupted mutants have no outcome.
	report.Results = slices.DeleteFunc(report.Results, func(r Result) bool { return r.Outcome == "" })
	report.Took = time.Since(began)
	return report, ctx.Err()
}

// session is one Run.
type session struct {
	source   Source
	options  Options
	progress sync.Mutex
	// shared is built with all mutants that can be switched on. It is nil if one of them
	// doesn't compile; then each is built on its own.
	shared *build
	copied copied
}

// play fills a Result. It returns one without an outcome if ctx ends.
func play(ctx context.Context, r Result, detect func() (by string, err error)) Result {
	began := time.Now()
	if ctx.Err() == nil {
		r.By, r.Err = detect()
	}
	r.Took = time.Since(began)
	switch {
	case ctx.Err() != nil:
		return Result{}
	case r.Err != nil:
		r.Outcome = outcomeBroken
	case r.By != "":
		r.Outcome = outcomeCaught
	default:
		r.Outcome = outcomeSurvived
	}
	return r
}

func (s *session) notify(r Result) {
	s.progress.Lock()
	defer s.progress.Unlock()
	if r.Outcome != "" {
		s.options.Progress(r)
	}
}

// prepare builds the programs that the mutants share, and returns those of the unmodified source:
// the same ones, if all mutants compile.
func (s *session) prepare(ctx context.Context, folder string) (unmodified *build, err error) {
	if s.copied, err = s.source.together(s.options.Mutants); err != nil {
		return nil, err
	}
	var packages []string
	for _, m := range s.options.Mutants {
		if !slices.Contains(packages, m.Detector.Package) {
			packages = append(packages, m.Detector.Package)
		}
	}
	s.shared, err = s.source.build(ctx, s.copied.texts, filepath.Join(folder, "shared"), packages)
	if errors.Is(err, errBuild) { // a mutant doesn't compile; its own build will tell which
		return s.source.build(ctx, nil, filepath.Join(folder, "unmodified"), packages)
	}
	return s.shared, err
}

// unbroken runs the detectors with all mutants switched off.
func (s *session) unbroken(ctx context.Context, unmodified *build) (by string, err error) {
	var detectors []Detector // each once
	for _, m := range s.options.Mutants {
		if slices.Contains(detectors, m.Detector) {
			continue
		}
		detectors = append(detectors, m.Detector)
		if by, err = unmodified.detect(ctx, m.Detector, ""); err != nil || by != "" {
			return by, err
		}
	}
	return "", nil
}

// mutant runs the detector of a mutant.
func (s *session) mutant(ctx context.Context, m mutant, folder string) (by string, err error) {
	b, on := s.shared, m.Name
	switch scripts := s.copied.scripts[m.Name]; {
	case b == nil || slices.Contains(s.copied.apart, m.Name):
		on = ""
		var texts map[string]string
		if texts, err = s.source.mutated(m); err == nil {
			b, err = s.source.build(ctx, texts, folder, []string{m.Detector.Package})
		}
	case len(scripts) > 0:
		b, err = b.patched(m.Detector.Package, scripts, folder)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // Run reports it if it stays
	if err != nil {
		return "", err
	}
	return b.detect(ctx, m.Detector, on)
}
