package mutants

import (
	"cmp"
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
	Name string `json:"name"`
	// Markers are the names of the markers whose lines the mutant changes. Guarantee is
	// the text of the first marker.
	Markers   []string `json:"markers"`
	Guarantee string   `json:"guarantee"`
	Expected  string   `json:"expected"`
	Outcome   outcome  `json:"outcome"`
	// By is the test that caught it. Says is the failure, or the error.
	By   string `json:"by,omitempty"`
	Says string `json:"says,omitempty"`
	// Took is real time, and CPU is processor time.
	Took time.Duration `json:"took_ns"`
	CPU  time.Duration `json:"cpu_ns"`
}

// Report is the result of all mutants.
type Report struct {
	// Unbroken is the result of the unmodified source. Its outcome must be Survived.
	Unbroken Result   `json:"unbroken"`
	Results  []Result `json:"mutants"`
	// Planned is the number of mutants to run. There are fewer Results if the run was
	// interrupted.
	Planned int           `json:"planned"`
	Took    time.Duration `json:"took_ns"`
	CPU     time.Duration `json:"cpu_ns"`
}

// OK reports whether no detector failed on the unmodified source and every mutant was caught.
func (r Report) OK() bool {
	return len(r.Results) >= r.Planned && r.Unbroken.Outcome == outcomeSurvived && !slices.ContainsFunc(r.Results, func(r Result) bool { return r.Outcome != outcomeCaught })
}

// Options configure Run.
type Options struct {
	// Mutants to run. Default: All.
	Mutants []mutant
	// Parallel is how many mutants run at once, 1 to 64. Default 2.
	Parallel int
	// Progress, if set, is called when each mutant begins and ends. The unmodified
	// source has the name "". It is not called after the context has ended. Calls do
	// not overlap.
	Progress func(name string, begins bool, r Result)
}

// Run runs mutants of a source. The error is that of ctx, of writing files, or of building the
// unmodified source. An error of one mutant is in its Result. When ctx ends, the Report has the
// finished results. Run leaves no process and no file behind.
func Run(ctx context.Context, source Source, o Options) (report Report, err error) {
	if len(o.Mutants) == 0 {
		o.Mutants = All()
	}
	o.Parallel = cmp.Or(o.Parallel, 2)
	if o.Parallel < 1 || o.Parallel > 64 {
		return report, fmt.Errorf("mutants: Parallel is %d, want 1 to 64", o.Parallel)
	}
	if o.Progress == nil {
		o.Progress = func(string, bool, Result) {}
	}
	folder, err := os.MkdirTemp("", "redlock-mutants-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	began := time.Now()
	s := session{source: source, options: o}
	report.Planned = len(o.Mutants)
	unmodified, err := s.prepare(ctx, folder, &report.CPU)
	if err != nil {
		return report, err
	}
	report.Results = make([]Result, report.Planned)
	var all errgroup.Group
	all.SetLimit(o.Parallel)
	all.Go(func() error {
		report.Unbroken = s.play(ctx, Result{Guarantee: "the unmodified source"}, func(ctx context.Context, r *Result) error {
			return s.unbroken(ctx, unmodified, r)
		})
		return nil
	})
	for i, m := range o.Mutants {
		all.Go(func() error {
			r := Result{Name: m.Name, Markers: m.Markers(), Guarantee: source.Guarantee(m), Expected: m.Detector.String()}
			report.Results[i] = s.play(ctx, r, func(ctx context.Context, r *Result) error {
				return s.mutant(ctx, m, filepath.Join(folder, m.Name), r)
			})
			return nil
		})
	}
	_ = all.Wait() // a Result has its error
	// Interrupted mutants have no outcome.
	report.Results = slices.DeleteFunc(report.Results, func(r Result) bool { return r.Outcome == "" })
	report.Took, report.CPU = time.Since(began), report.CPU+report.Unbroken.CPU
	for _, r := range report.Results {
		report.CPU += r.CPU
	}
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
func (s *session) play(ctx context.Context, r Result, detect func(context.Context, *Result) error) Result {
	if ctx.Err() != nil {
		return Result{}
	}
	s.notify(r.Name, true, Result{})
	began := time.Now()
	r.Outcome = outcomeSurvived
	if err := detect(ctx, &r); err != nil {
		r.Outcome, r.By, r.Says = outcomeBroken, "", err.Error()
	}
	r.Took = time.Since(began)
	if ctx.Err() != nil {
		return Result{}
	}
	s.notify(r.Name, false, r)
	return r
}

func (s *session) notify(name string, begins bool, r Result) {
	s.progress.Lock()
	defer s.progress.Unlock()
	s.options.Progress(name, begins, r)
}

// prepare builds the programs that the mutants share, and returns those of the unmodified source:
// the same ones, if all mutants compile.
func (s *session) prepare(ctx context.Context, folder string, cpu *time.Duration) (unmodified *build, err error) {
	if s.copied, err = s.source.together(s.options.Mutants); err != nil {
		return nil, err
	}
	var packages []string
	for _, m := range s.options.Mutants {
		if !slices.Contains(packages, m.Detector.Package) {
			packages = append(packages, m.Detector.Package)
		}
	}
	s.shared, err = s.source.build(ctx, s.copied.texts, filepath.Join(folder, "shared"), packages, cpu)
	if errors.Is(err, errBuild) { // a mutant doesn't compile; its own build will tell which
		return s.source.build(ctx, nil, filepath.Join(folder, "unmodified"), packages, cpu)
	}
	return s.shared, err
}

// unbroken runs the detectors with all mutants switched off.
func (s *session) unbroken(ctx context.Context, unmodified *build, r *Result) error {
	var detectors []Detector // each once
	for _, m := range s.options.Mutants {
		if slices.Contains(detectors, m.Detector) {
			continue
		}
		detectors = append(detectors, m.Detector)
		if err := unmodified.detect(ctx, m.Detector, "", r); err != nil || r.Outcome == outcomeCaught {
			return err
		}
	}
	return nil
}

// mutant runs the detector of a mutant.
func (s *session) mutant(ctx context.Context, m mutant, folder string, r *Result) error {
	b, on := s.shared, m.Name
	var err error
	switch scripts := s.copied.scripts[m.Name]; {
	case b == nil || slices.Contains(s.copied.apart, m.Name):
		on = ""
		var texts map[string]string
		if texts, err = s.source.mutated(m); err == nil {
			b, err = s.source.build(ctx, texts, folder, []string{m.Detector.Package}, &r.CPU)
		}
	case len(scripts) > 0:
		b, err = b.patched(m.Detector.Package, scripts, folder)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // Run reports it if it stays
	if err != nil {
		return err
	}
	return b.detect(ctx, m.Detector, on, r)
}
