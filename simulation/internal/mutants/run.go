package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// outcome says what happened to a mutant.
type outcome string

// The outcomes.
const (
	// outcomeCaught: a detector failed.
	outcomeCaught outcome = "caught"
	// outcomeSurvived: no detector failed.
	outcomeSurvived outcome = "survived"
	// outcomeBroken: the mutant is stale or doesn't compile, or a detector could not run.
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
	// By is the scenario, search or test that caught it. Says is the failure, or the
	// error.
	By   string `json:"by,omitempty"`
	Says string `json:"says,omitempty"`
	// AsExpected: the expected detector caught it, and those that must catch it as well.
	// Otherwise Expected is the one that did not.
	AsExpected bool `json:"as_expected"`
	// Runs counts the runs or tests.
	Runs int `json:"runs"`
	// Walks are those of the detectors that walk through all orders.
	Walks []Walked `json:"walks,omitempty"`
	// Took is real time, and CPU is processor time.
	Took time.Duration `json:"took_ns"`
	CPU  time.Duration `json:"cpu_ns"`
}

// Walked is how a walk caught a mutant.
type Walked struct {
	Walk string `json:"walk"`
	Says string `json:"says"`
	// Runs is the number of runs of the walk, and Drawn that of random orders: 0 if they
	// didn't show it.
	Runs  int `json:"runs"`
	Drawn int `json:"drawn"`
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

// OK reports whether no detector failed on the unmodified source and every mutant was
// caught by its expected detector. A catch by another detector may be chance: name that
// detector in the mutant, or fix the expected one.
func (r Report) OK() bool {
	return len(r.Results) >= r.Planned && r.Unbroken.Outcome == outcomeSurvived && !slices.ContainsFunc(r.Results, func(r Result) bool { return !r.AsExpected })
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

// Run runs mutants of a source. The error is that of ctx or of writing files. An error of
// one mutant is in its Result. When ctx ends, the Report has the finished results. Run
// leaves no process and no file behind.
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
	s := session{source: source, folder: folder, options: o}
	report.Planned = len(o.Mutants)
	report.Results = make([]Result, report.Planned)
	var all errgroup.Group
	all.SetLimit(o.Parallel)
	all.Go(func() error {
		report.Unbroken = s.play(ctx, Result{Guarantee: "the unmodified source"}, s.unbroken)
		return nil
	})
	for i, m := range o.Mutants {
		all.Go(func() error {
			r := Result{Name: m.Name, Markers: m.Markers(), Guarantee: source.Guarantee(m), Expected: m.Detector.String()}
			report.Results[i] = s.play(ctx, r, func(ctx context.Context, run *runner, r *Result) error { return run.mutant(ctx, m, r) })
			return nil
		})
	}
	_ = all.Wait() // a Result has its error
	// Interrupted mutants have no outcome.
	report.Results = slices.DeleteFunc(report.Results, func(r Result) bool { return r.Outcome == "" })
	report.Took, report.CPU = time.Since(began), report.Unbroken.CPU
	for _, r := range report.Results {
		report.CPU += r.CPU
	}
	return report, ctx.Err()
}

// session is one Run.
type session struct {
	source   Source
	folder   string
	options  Options
	progress sync.Mutex
	// programs are those of the unmodified source.
	programs programs
}

// play runs detectors in a folder of their own, which it removes, because programs take
// several megabytes. It returns a Result without an outcome if ctx ends.
func (s *session) play(ctx context.Context, r Result, detect func(context.Context, *runner, *Result) error) Result {
	if ctx.Err() != nil {
		return Result{}
	}
	s.notify(r.Name, true, Result{})
	began := time.Now()
	run := &runner{source: s.source, programs: &s.programs}
	var err error
	if run.folder, err = os.MkdirTemp(s.folder, ""); err == nil {
		r.Outcome = outcomeSurvived
		err = detect(ctx, run, &r)
		_ = os.RemoveAll(run.folder) // Run reports it if it stays
	}
	if err != nil {
		r.Outcome, r.By, r.Says, r.AsExpected = outcomeBroken, "", err.Error(), false
	}
	r.Took, r.CPU = time.Since(began), run.cpu
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

// unbroken runs the mutants' expected detectors on the unmodified source.
func (s *session) unbroken(ctx context.Context, run *runner, r *Result) error {
	var simulated, tests []Detector // each once
	for _, m := range s.options.Mutants {
		for _, d := range append([]Detector{m.Detector}, m.Also...) {
			switch {
			case d.simulated() && !slices.Contains(simulated, d):
				simulated = append(simulated, d)
			case !d.simulated() && !slices.Contains(tests, d):
				tests = append(tests, d)
			}
		}
	}
	if len(simulated) > 0 {
		if err := run.detect(ctx, r, simulated...); err != nil {
			return err
		}
	}
	for _, d := range tests {
		if err := run.detect(ctx, r, d); err != nil || r.Outcome == outcomeCaught {
			return err
		}
	}
	return nil
}

// mutant runs detectors on a mutant until one catches it: the expected one, all scenarios
// and searches, and all tests of the packages that it changes. Then it runs those that must
// catch it as well.
func (run *runner) mutant(ctx context.Context, m mutant, r *Result) (err error) {
	if run.overlay, run.replaced, err = run.source.overlay(m, run.folder); err != nil {
		return err
	}
	detectors := []Detector{m.Detector, everything}
	for _, pkg := range run.source.packages(m) {
		detectors = append(detectors, Detector{Package: pkg, Test: all})
	}
	for i, d := range detectors {
		if err := run.detect(ctx, r, d); err != nil {
			return err
		}
		if r.Outcome == outcomeCaught {
			r.AsExpected = i == 0
			break
		}
	}
	if !r.AsExpected {
		return nil
	}
	for _, d := range m.Also {
		too := Result{Runs: r.Runs}
		if err := run.detect(ctx, &too, d); err != nil {
			return err
		}
		if r.Runs = too.Runs; too.Outcome != outcomeCaught {
			r.Expected, r.AsExpected = d.String(), false // this one must catch it, too
			return nil
		}
		r.By += "; " + too.By
		r.Walks = append(r.Walks, too.Walks...)
	}
	return nil
}

// detect runs detectors, and adds what they found. Several of them must be simulated.
func (run *runner) detect(ctx context.Context, r *Result, detectors ...Detector) error {
	detect := func() (Detection, error) { return run.test(ctx, detectors[0].Package, detectors[0].Test) }
	if detectors[0].simulated() {
		detect = func() (Detection, error) { return run.simulate(ctx, detectors) }
	}
	found, err := detect()
	r.Runs += found.Runs
	if err == nil && found.By != "" {
		r.Outcome, r.By, r.Says = outcomeCaught, found.By, brief(found.Says)
		if walk := detectors[0].Walk; walk != "" {
			r.Walks = append(r.Walks, Walked{Walk: walk, Says: r.Says, Runs: found.Runs, Drawn: found.Drawn})
		}
	}
	return err
}

// brief returns the first line of a text, at most about 500 characters.
func brief(text string) string {
	text = firstLine(text)
	if len(text) <= 500 {
		return text
	}
	return strings.ToValidUTF8(text[:500], "") + " ..."
}
