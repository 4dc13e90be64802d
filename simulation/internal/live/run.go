//go:build unix

package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// Options configure Run.
type Options struct {
	// Binary is the server program. Default: redis-server. Args are added to its command
	// line.
	Binary string
	Args   []string
	// Cases are the cases to run. Default: Cases().
	Cases []Case
	// Parallel is the number of concurrent runs. Default 4.
	Parallel int
	// Progress, if not nil, is called with each finished Line. Calls do not overlap.
	Progress func(Line)
}

// Line is the result of one case with one design.
type Line struct {
	Scenario string `json:"scenario"`
	Form     string `json:"form,omitempty"`
	Title    string `json:"title"`
	Fault    string `json:"fault"`
	Design   string `json:"design"`
	// Predicted is what the simulation found, and Seen what was observed on real
	// servers. Both are sorted.
	Predicted []record.ViolationKind `json:"predicted"`
	Seen      []record.ViolationKind `json:"seen"`
	Agrees    bool                   `json:"agrees"`
	// Skipped says why it did not run, and Err why it failed. With either, Agrees has no
	// meaning.
	Skipped string `json:"skipped,omitempty"`
	Err     string `json:"error,omitempty"`
	// Findings are the violations behind Seen. History is the ledger.
	Findings []finding `json:"findings,omitempty"`
	History  []entry   `json:"history,omitempty"`
	// Notes are remarks about the run.
	Notes []string `json:"notes,omitempty"`
	// Again counts the repetitions because the machine was too slow.
	Again int           `json:"again,omitempty"`
	Took  time.Duration `json:"took_ns"`
}

// OK reports whether the line agrees or was skipped.
func (l Line) OK() bool { return l.Skipped != "" || l.Err == "" && l.Agrees }

// Report is the result of Run.
type Report struct {
	// Server is the version of the servers: "redis 7.0.15".
	Server string `json:"server"`
	Lines  []Line `json:"lines"`
	// Planned is the planned number of lines. There are fewer if the run was
	// interrupted: unfinished ones are left out.
	Planned int `json:"planned"`
	// Played and Skipped count the lines. Disagreements counts those that are not OK.
	Played        int           `json:"played"`
	Skipped       int           `json:"skipped"`
	Disagreements int           `json:"disagreements"`
	Took          time.Duration `json:"took_ns"`
}

// errNoServer: no redis-server was found.
var errNoServer = errors.New("live: no redis-server")

// run is the shared state of one Run.
type run struct {
	dir     string
	options Options
	cleanup *process

	build   sync.Once
	built   string
	builtBy error
}

// begin creates the run's directory and starts the cleanup process, which removes the
// directory if the run can't.
func begin(options Options) (*run, error) {
	if _, err := (redisproc.Config{Binary: options.Binary}).Find(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoServer, err)
	}
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	// The real path, so that processes with this working directory can be found.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	r := &run{dir: dir, options: options}
	if r.cleanup, err = startCleanup(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

// end removes all files and processes.
func (r *run) end() error {
	err := os.RemoveAll(r.dir)
	r.cleanup.end()
	return err
}

// library builds the preloaded library once.
func (r *run) library() (string, error) {
	r.build.Do(func() {
		// Not the context of one case, because all cases share the library.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r.built, r.builtBy = buildLibrary(ctx, r.dir)
	})
	return r.built, r.builtBy
}

// Run runs cases on real servers with each of their designs, and compares the results
// with the predictions of the simulation. Disagreements are in the Report and are not
// errors. Run leaves no process and no file behind.
//
// The error Is errNoServer, or that of ctx. When ctx ends, the Report has the finished
// lines.
func Run(ctx context.Context, options Options) (report Report, err error) {
	began := time.Now()
	if options.Parallel <= 0 {
		options.Parallel = 4
	}
	if options.Cases == nil {
		options.Cases = Cases()
	}
	r, err := begin(options)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	if report.Server, err = r.version(ctx); err != nil {
		return report, err
	}
	var plays errgroup.Group
	plays.SetLimit(options.Parallel)
	var mu sync.Mutex // of finished and Progress
	finished := map[int]Line{}
	for _, tc := range options.Cases {
		for _, design := range tc.Designs {
			i := report.Planned
			report.Planned++
			plays.Go(func() error {
				if ctx.Err() != nil {
					return nil
				}
				line := Line{Scenario: tc.Scenario, Form: tc.Form, Fault: tc.Fault, Design: design}
				r.play(ctx, tc, design, &line)
				mu.Lock()
				defer mu.Unlock()
				if ctx.Err() != nil {
					return nil // the line only reports the interruption
				}
				if finished[i] = line; options.Progress != nil {
					options.Progress(line)
				}
				return nil
			})
		}
	}
	_ = plays.Wait() // errors are in the lines
	for _, i := range slices.Sorted(maps.Keys(finished)) {
		report.Lines = append(report.Lines, finished[i])
	}
	report.Took = time.Since(began)
	report.count()
	return report, context.Cause(ctx)
}

func (r *Report) count() {
	for _, line := range r.Lines {
		switch {
		case line.Skipped != "":
			r.Skipped++
		case line.OK():
			r.Played++
		default:
			r.Played++
			r.Disagreements++
		}
	}
}

// version returns the name and the version of the server.
func (r *run) version(ctx context.Context) (string, error) {
	s, err := redisproc.Start(ctx, redisproc.Config{Binary: r.options.Binary, Args: r.options.Args, Parent: r.dir})
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	return s.Product()
}

// tries bounds how often a case is run if the machine is too slow.
const tries = 4

// play fills in one line.
func (r *run) play(ctx context.Context, tc Case, design string, line *Line) {
	began := time.Now()
	defer func() { line.Took = time.Since(began) }()
	fail := func(err error) { line.Err = err.Error() }
	scenario, err := scenarios.ByID(tc.Scenario)
	if err != nil {
		fail(err)
		return
	}
	line.Title = scenario.Title
	if line.Predicted, err = predict(tc.Scenario, tc.predictedBy(design)); err != nil {
		fail(err)
		return
	}
	ttl := tc.ttl()
	for {
		history, notes, err := r.perform(ctx, tc, design, ttl)
		line.Notes = notes
		switch {
		case errors.Is(err, errNoMachine):
			line.Skipped = strings.TrimPrefix(err.Error(), "live: ")
			return
		case errors.Is(err, errLate) && line.Again+1 < tries && ctx.Err() == nil:
			line.Again++
			ttl *= 2
			continue
		case err != nil:
			fail(err)
			return
		}
		line.conclude(history)
		return
	}
}

// conclude compares the history with the prediction.
func (l *Line) conclude(history []entry) {
	l.History = history
	l.Findings = findingsIn(history, check.Rules{})
	l.Seen = kindsOf(l.Findings)
	l.Agrees = slices.Equal(l.Seen, l.Predicted)
}

// perform runs a case with one design, once.
func (r *run) perform(ctx context.Context, tc Case, design string, ttl time.Duration) (history []entry, notes []string, err error) {
	scenario, lock, err := settings(tc.Scenario, design)
	if err != nil {
		return nil, nil, err
	}
	cfg, _ := scenario.Setting(lock)
	dir, err := os.MkdirTemp(r.dir, strings.ToLower(tc.Scenario)+"-")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, fmt.Errorf("live: %s with %s timed out", tc.Name(), design))
	defer cancel()
	s := &environment{ctx: ctx, run: r, dir: filepath.Clean(dir), tc: tc, design: design, cfg: cfg, ttl: ttl, alone: lock.Servers == 1}
	defer func() {
		notes = s.notes
		if p := recover(); p != nil {
			end, ok := p.(stopped)
			if !ok {
				_ = s.close() // clean up before the panic continues
				panic(p)
			}
			err = end.err
		}
		err = errors.Join(err, s.close())
	}()
	s.build()
	if script := scripts[tc.Script]; script != nil {
		script(s)
	} else {
		s.play()
	}
	return s.history(), nil, nil
}
