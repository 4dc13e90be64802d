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

// Outcome is what became of a mutant.
type Outcome string

// The outcomes.
const (
	// Caught: a judge noticed.
	Caught Outcome = "caught"
	// Survived: nobody did, though all were asked.
	Survived Outcome = "survived"
	// Broken: it couldn't be judged: it is stale, doesn't compile, or its judge
	// failed.
	Broken Outcome = "error"
)

// Result is what became of a mutant.
type Result struct {
	Name string `json:"name"`
	// Markers are the names of those whose lines the mutant changes, and Guarantee is what
	// the first one says.
	Markers   []string `json:"markers"`
	Guarantee string   `json:"guarantee"`
	Expected  string   `json:"expected"`
	Outcome   Outcome  `json:"outcome"`
	// By is the scenario, the seed or the test that caught it, and Says what that
	// found; or what went wrong.
	By   string `json:"by,omitempty"`
	Says string `json:"says,omitempty"`
	// AsExpected says that its own judge did it.
	AsExpected bool `json:"as_expected"`
	// Runs is how many runs, or tests, it took.
	Runs int `json:"runs"`
	// Took is real time, and CPU what was used of processors.
	Took time.Duration `json:"took_ns"`
	CPU  time.Duration `json:"cpu_ns"`
}

// Report is what became of all of them.
type Report struct {
	// Unbroken is what the judges say of the source as it is. It must be that
	// nobody finds anything: Survived.
	Unbroken Result   `json:"unbroken"`
	Results  []Result `json:"mutants"`
	// Planned is how many mutants there were to be judged. There are fewer Results if
	// the run was interrupted.
	Planned int           `json:"planned"`
	Took    time.Duration `json:"took_ns"`
	CPU     time.Duration `json:"cpu_ns"`
}

// OK reports whether the judges find nothing in the source as it is, and every mutant
// was caught by its own judge. One that another had to catch may have been caught by
// chance: its own must be named anew, or be made to see it.
func (r Report) OK() bool {
	return len(r.Results) >= r.Planned && r.Unbroken.Outcome == Survived && !slices.ContainsFunc(r.Results, func(r Result) bool { return !r.AsExpected })
}

// Options are how mutants are judged.
type Options struct {
	// Mutants are those to judge. Default: All.
	Mutants []Mutant
	// Parallel is how many are judged at once, 1 to 64. Default 2.
	Parallel int
	// Progress, if set, is told of each mutant when it is begun and when it is over,
	// the source as it is with the name "". Nothing is told any more once the context
	// has ended. Calls don't overlap.
	Progress func(name string, begins bool, r Result)
}

// Run judges mutants of a source. An error is that of ctx, or that nothing can be
// written; what goes wrong with a mutant is in its Result. When ctx ends the Report has
// what was judged until then. Nothing that was started or written is left behind.
func Run(ctx context.Context, source Source, o Options) (report Report, err error) {
	if len(o.Mutants) == 0 {
		o.Mutants = All()
	}
	if o.Parallel == 0 {
		o.Parallel = 2
	}
	if o.Parallel < 1 || o.Parallel > 64 {
		return report, fmt.Errorf("mutants: %d at once, want 1 to 64", o.Parallel)
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
					report.Unbroken = s.follow(ctx, "", s.unbroken)
					continue
				}
				m := o.Mutants[i]
				report.Results[i] = s.follow(ctx, m.Name, func(ctx context.Context) Result { return s.judge(ctx, i, m) })
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
	// What was interrupted has no outcome.
	report.Results = slices.DeleteFunc(report.Results, func(r Result) bool { return r.Outcome == "" })
	report.Took, report.CPU = time.Since(began), report.Unbroken.CPU
	for _, r := range report.Results {
		report.CPU += r.CPU
	}
	return report, ctx.Err()
}

// session is one Run.
type session struct {
	source  Source
	folder  string
	options Options
	telling sync.Mutex
	// programs are those of the source as it is.
	programs programs
}

// follow tells of a job's beginning and its end.
func (s *session) follow(ctx context.Context, name string, job func(context.Context) Result) Result {
	s.tell(name, true, Result{})
	began := time.Now()
	r := job(ctx)
	r.Took = time.Since(began)
	if ctx.Err() != nil {
		return Result{} // it is no outcome
	}
	s.tell(name, false, r)
	return r
}

func (s *session) tell(name string, begins bool, r Result) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.options.Progress(name, begins, r)
}

// open gives a court with a folder of its own, which close removes: a program is
// several megabytes long.
func (s *session) open(name string) (c *court, end func(), err error) {
	folder := filepath.Join(s.folder, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, nil, err
	}
	return &court{source: s.source, folder: folder, programs: &s.programs}, func() { _ = os.RemoveAll(folder) }, nil // Run tells, if it stays
}

// unbroken shows the source as it is to the mutants' own judges.
func (s *session) unbroken(ctx context.Context) (r Result) {
	r = Result{Name: "", Guarantee: "the source as it is", Outcome: Broken}
	c, end, err := s.open("unbroken")
	if err != nil {
		r.Says = err.Error()
		return r
	}
	defer end()
	defer func() { r.CPU = c.cpu }()
	r.Outcome = Survived
	plays, tests := judgesOf(s.options.Mutants)
	if len(plays) > 0 {
		v, err := c.play(ctx, Order{First: plays, Searches: Searches()})
		r.take(v, err)
	}
	for _, j := range tests {
		if r.Outcome != Survived {
			break
		}
		v, err := c.test(ctx, j.Package, j.Test)
		r.take(v, err)
	}
	return r
}

// judgesOf gives each judge of any of the mutants, once.
func judgesOf(list []Mutant) (plays, tests []Judge) {
	for _, m := range list {
		for _, j := range append([]Judge{m.Judge}, m.Also...) {
			switch {
			case j.plays() && !slices.Contains(plays, j):
				plays = append(plays, j)
			case !j.plays() && !slices.Contains(tests, j):
				tests = append(tests, j)
			}
		}
	}
	return plays, tests
}

// take adds what one more judge said.
func (r *Result) take(v Verdict, err error) {
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

// brief is the beginning of a text: its first line, of some 500 characters at the most.
func brief(text string) string {
	text = firstLine(text)
	if len(text) <= 500 {
		return text
	}
	return strings.ToValidUTF8(text[:500], "") + " ..."
}

// judge brings a mutant before one judge after the other, until one catches it.
func (s *session) judge(ctx context.Context, i int, m Mutant) (r Result) {
	r = Result{Name: m.Name, Markers: m.Markers(), Guarantee: s.source.Guarantee(m), Expected: m.Judge.String(), Outcome: Broken}
	c, end, err := s.open(fmt.Sprintf("%d", i))
	if err != nil {
		r.Says = err.Error()
		return r
	}
	defer end()
	defer func() { r.CPU = c.cpu }()
	if c.overlay, c.replaced, err = s.source.overlay(m, c.folder); err != nil {
		r.Says = err.Error()
		return r
	}
	for n, hear := range c.judges(m) {
		v, err := hear(ctx)
		r.take(v, err)
		if r.Outcome != Survived {
			r.AsExpected = r.Outcome == Caught && n == 0
			break
		}
	}
	if r.AsExpected {
		s.also(ctx, c, m, &r)
	}
	return r
}

// also brings a mutant that was caught before those who have to catch it as well.
func (s *session) also(ctx context.Context, c *court, m Mutant, r *Result) {
	for _, j := range m.Also {
		v, err := c.play(ctx, Order{First: []Judge{j}, Searches: Searches()})
		r.Runs += v.Runs
		switch {
		case err != nil:
			r.Outcome, r.Says, r.AsExpected = Broken, err.Error(), false
			return
		case v.By == "":
			r.Says, r.AsExpected = fmt.Sprintf("%s didn't catch it as well, as is expected", j), false
			return
		}
		r.By += "; " + v.By
	}
}

// judges are those of a mutant: its own, all that play, and its packages' tests.
func (c *court) judges(m Mutant) []func(context.Context) (Verdict, error) {
	order := func(o Order) func(context.Context) (Verdict, error) {
		o.Searches = Searches()
		return func(ctx context.Context) (Verdict, error) { return c.play(ctx, o) }
	}
	test := func(pkg, pattern string) func(context.Context) (Verdict, error) {
		return func(ctx context.Context) (Verdict, error) { return c.test(ctx, pkg, pattern) }
	}
	list := []func(context.Context) (Verdict, error){test(m.Judge.Package, m.Judge.Test)}
	if m.Judge.plays() {
		list[0] = order(Order{First: []Judge{m.Judge}})
	}
	list = append(list, order(Order{Rest: true}))
	for _, pkg := range c.source.packages(m) {
		list = append(list, test(pkg, all))
	}
	return list
}
