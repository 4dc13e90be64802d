package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome says what happened to a mutant.
type Outcome string

// The outcomes.
const (
	// Caught: a detector failed.
	Caught Outcome = "caught"
	// Survived: no detector failed.
	Survived Outcome = "survived"
	// Broken: the mutant is stale or doesn't compile, or a detector could not run.
	Broken Outcome = "error"
)

// Result is the result of a mutant.
type Result struct {
	Name string `json:"name"`
	// Markers are the names of the markers whose lines the mutant changes. Guarantee is
	// the text of the first marker.
	Markers   []string `json:"markers"`
	Guarantee string   `json:"guarantee"`
	Expected  string   `json:"expected"`
	Outcome   Outcome  `json:"outcome"`
	// By is the scenario, search or test that caught it. Says is the failure, or the
	// error.
	By   string `json:"by,omitempty"`
	Says string `json:"says,omitempty"`
	// AsExpected: the expected detector caught it.
	AsExpected bool `json:"as_expected"`
	// Runs counts the runs or tests.
	Runs int `json:"runs"`
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

// OK reports whether no detector failed on the unmodified source and every mutant was
// caught by its expected detector. A catch by another detector may be chance: name that
// detector in the mutant, or fix the expected one.
func (r Report) OK() bool {
	return len(r.Results) >= r.Planned && r.Unbroken.Outcome == Survived && !slices.ContainsFunc(r.Results, func(r Result) bool { return !r.AsExpected })
}

// Options configure Run.
type Options struct {
	// Mutants to run. Default: All.
	Mutants []Mutant
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
	if o.Parallel == 0 {
		o.Parallel = 2
	}
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
	next := make(chan int)
	var all sync.WaitGroup
	for range o.Parallel {
		all.Go(func() {
			for i := range next {
				if i < 0 {
					report.Unbroken = s.report(ctx, "", s.unbroken)
					continue
				}
				m := o.Mutants[i]
				report.Results[i] = s.report(ctx, m.Name, func(ctx context.Context) Result { return s.mutant(ctx, i, m) })
			}
		})
	}
	for i := -1; i < len(o.Mutants) && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	all.Wait()
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

// report reports the beginning and the end of a job to Progress.
func (s *session) report(ctx context.Context, name string, job func(context.Context) Result) Result {
	s.notify(name, true, Result{})
	began := time.Now()
	r := job(ctx)
	r.Took = time.Since(began)
	if ctx.Err() != nil {
		return Result{} // interrupted: no outcome
	}
	s.notify(name, false, r)
	return r
}

func (s *session) notify(name string, begins bool, r Result) {
	s.progress.Lock()
	defer s.progress.Unlock()
	s.options.Progress(name, begins, r)
}

// open returns a runner with its own folder. end removes the folder, because programs
// take several megabytes.
func (s *session) open(name string) (run *runner, end func(), err error) {
	folder := filepath.Join(s.folder, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, nil, err
	}
	return &runner{source: s.source, folder: folder, programs: &s.programs}, func() { _ = os.RemoveAll(folder) }, nil // Run reports it if it stays
}

// unbroken runs the mutants' expected detectors on the unmodified source.
func (s *session) unbroken(ctx context.Context) (r Result) {
	r = Result{Name: "", Guarantee: "the unmodified source", Outcome: Broken}
	run, end, err := s.open("unbroken")
	if err != nil {
		r.Says = err.Error()
		return r
	}
	defer end()
	defer func() { r.CPU = run.cpu }()
	r.Outcome = Survived
	simulated, tests := detectorsOf(s.options.Mutants)
	if len(simulated) > 0 {
		v, err := run.simulate(ctx, Request{First: simulated, Searches: Searches()})
		r.take(v, err)
	}
	for _, j := range tests {
		if r.Outcome != Survived {
			break
		}
		v, err := run.test(ctx, j.Package, j.Test)
		r.take(v, err)
	}
	return r
}

// detectorsOf returns the expected detectors of the mutants, each once.
func detectorsOf(list []Mutant) (simulated, tests []Detector) {
	for _, m := range list {
		for _, j := range append([]Detector{m.Detector}, m.Also...) {
			switch {
			case j.simulated() && !slices.Contains(simulated, j):
				simulated = append(simulated, j)
			case !j.simulated() && !slices.Contains(tests, j):
				tests = append(tests, j)
			}
		}
	}
	return simulated, tests
}

// take adds the result of one more detector.
func (r *Result) take(v DetectorResult, err error) {
	r.Runs += v.Runs
	switch {
	case err != nil:
		r.Outcome, r.By, r.Says = Broken, "", err.Error()
	case v.By != "":
		r.Outcome, r.By, r.Says = Caught, v.By, brief(v.Says)
	default:
		r.Outcome = Survived
	}
}

// brief returns the first line of a text, at most about 500 characters.
func brief(text string) string {
	text = firstLine(text)
	if len(text) <= 500 {
		return text
	}
	return strings.ToValidUTF8(text[:500], "") + " ..."
}

// mutant runs detectors on a mutant until one catches it.
func (s *session) mutant(ctx context.Context, i int, m Mutant) (r Result) {
	r = Result{Name: m.Name, Markers: m.Markers(), Guarantee: s.source.Guarantee(m), Expected: m.Detector.String(), Outcome: Broken}
	run, end, err := s.open(fmt.Sprintf("%d", i))
	if err != nil {
		r.Says = err.Error()
		return r
	}
	defer end()
	defer func() { r.CPU = run.cpu }()
	if run.overlay, run.replaced, err = s.source.overlay(m, run.folder); err != nil {
		r.Says = err.Error()
		return r
	}
	for n, detect := range run.detectors(m) {
		v, err := detect(ctx)
		r.take(v, err)
		if r.Outcome != Survived {
			r.AsExpected = r.Outcome == Caught && n == 0
			break
		}
	}
	if r.AsExpected {
		s.also(ctx, run, m, &r)
	}
	return r
}

// also runs the detectors that must catch a mutant as well.
func (s *session) also(ctx context.Context, run *runner, m Mutant, r *Result) {
	for _, j := range m.Also {
		v, err := run.simulate(ctx, Request{First: []Detector{j}, Searches: Searches()})
		r.Runs += v.Runs
		switch {
		case err != nil:
			r.Outcome, r.Says, r.AsExpected = Broken, err.Error(), false
			return
		case v.By == "":
			r.Says, r.AsExpected = fmt.Sprintf("%s didn't catch it, but must", j), false
			return
		}
		r.By += "; " + v.By
	}
}

// detectors returns a mutant's detectors: the expected one, all scenarios and searches,
// and all tests of its packages.
func (r *runner) detectors(m Mutant) []func(context.Context) (DetectorResult, error) {
	simulate := func(o Request) func(context.Context) (DetectorResult, error) {
		o.Searches = Searches()
		return func(ctx context.Context) (DetectorResult, error) { return r.simulate(ctx, o) }
	}
	test := func(pkg, pattern string) func(context.Context) (DetectorResult, error) {
		return func(ctx context.Context) (DetectorResult, error) { return r.test(ctx, pkg, pattern) }
	}
	list := []func(context.Context) (DetectorResult, error){test(m.Detector.Package, m.Detector.Test)}
	if m.Detector.simulated() {
		list[0] = simulate(Request{First: []Detector{m.Detector}})
	}
	list = append(list, simulate(Request{Rest: true}))
	for _, pkg := range r.source.packages(m) {
		list = append(list, test(pkg, all))
	}
	return list
}
