//go:build unix

package live

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

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/scenarios"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// Options say how to run.
type Options struct {
	// Binary is the server to start, Args are added to its command line. Default:
	// redis-server.
	Binary string
	Args   []string
	// Acts are what to play. Default: Acts.
	Acts []Act
	// Parallel is how many plays go on at once. Default 4.
	Parallel int
	// Progress, if not nil, is told of each Line when it is there. It is called by one
	// goroutine at a time.
	Progress func(Line)
}

// Line is what came of one act with one design.
type Line struct {
	Scenario string `json:"scenario"`
	Form     string `json:"form,omitempty"`
	Title    string `json:"title"`
	Fault    string `json:"fault"`
	Design   string `json:"design"`
	// Predicted is what the simulation found, Seen what was seen on real servers. Both
	// are sorted; empty is nothing.
	Predicted []simulation.ViolationKind `json:"predicted"`
	Seen      []simulation.ViolationKind `json:"seen"`
	Agrees    bool                       `json:"agrees"`
	// Skipped says why it was not played, Err what kept it from being played to its
	// end. With either there is nothing to agree.
	Skipped string `json:"skipped,omitempty"`
	Err     string `json:"error,omitempty"`
	// Judge is the second opinion, JudgeAgrees whether it is the same.
	Judge       string `json:"judge,omitempty"`
	JudgeAgrees bool   `json:"judge_agrees"`
	// Findings are what Seen was read off from, History all that was written down.
	Findings []Finding `json:"findings,omitempty"`
	History  []Entry   `json:"history,omitempty"`
	// Notes are remarks of the play's.
	Notes []string `json:"notes,omitempty"`
	// Again counts the times for which it was begun anew, because the machine was too
	// slow for the story.
	Again int           `json:"again,omitempty"`
	Took  time.Duration `json:"took_ns"`
}

// OK says whether nothing speaks against the line: it agrees, or was skipped.
func (l Line) OK() bool { return l.Skipped != "" || l.Err == "" && l.Agrees && l.JudgeAgrees }

// Report is what came of a run.
type Report struct {
	// Server is what was played on: "redis 7.0.15".
	Server string `json:"server"`
	Lines  []Line `json:"lines"`
	// Planned is how many lines there were to be. There are fewer if the run was
	// interrupted: those that were not played to their end are left out.
	Planned int `json:"planned"`
	// Played and Skipped count the lines, Disagreements those that aren't OK.
	Played        int           `json:"played"`
	Skipped       int           `json:"skipped"`
	Disagreements int           `json:"disagreements"`
	Took          time.Duration `json:"took_ns"`
}

// ErrNoServer: there is no redis-server to play on.
var ErrNoServer = errors.New("live: there is no redis-server")

// run is what the plays of one Run share.
type run struct {
	dir     string
	options Options
	janitor *process

	build   sync.Once
	built   string
	builtBy error
}

// begin makes a run's directory, and starts the janitor, who removes it if the run
// can't.
func begin(options Options) (*run, error) {
	if _, err := (redisproc.Config{Binary: options.Binary}).Find(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	// As the kernel names it, so that what works in it can be found.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	r := &run{dir: dir, options: options}
	if r.janitor, err = startJanitor(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

// end removes what is left, and returns when nothing is.
func (r *run) end() error {
	err := os.RemoveAll(r.dir)
	r.janitor.end()
	return err
}

// library builds the library for clocks, once.
func (r *run) library() (string, error) {
	r.build.Do(func() {
		// Not the play's context, for it is everybody's.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r.built, r.builtBy = buildLibrary(ctx, r.dir)
	})
	return r.built, r.builtBy
}

// Run plays acts on real servers, each with each of its designs, and compares what it
// sees with what the simulation predicts. What disagrees is in the Report and no
// error. When Run returns, nothing that it started runs any more, and no file is left.
//
// The error Is ErrNoServer if there is no server to start, or ctx's; then the Report has
// what was played until ctx ended.
func Run(ctx context.Context, options Options) (report Report, err error) {
	began := time.Now()
	if options.Parallel <= 0 {
		options.Parallel = 4
	}
	if options.Acts == nil {
		options.Acts = Acts()
	}
	r, err := begin(options)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	if report.Server, err = r.version(ctx); err != nil {
		return report, err
	}
	for _, act := range options.Acts {
		for _, part := range act.Parts {
			report.Lines = append(report.Lines, Line{Scenario: act.Scenario, Form: act.Form, Fault: act.Fault, Design: part.Design})
		}
	}
	report.Planned = len(report.Lines)
	over := make([]bool, report.Planned)
	var plays errgroup.Group
	plays.SetLimit(options.Parallel)
	var told sync.Mutex
	i := 0
	for _, act := range options.Acts {
		for _, part := range act.Parts {
			line, over := &report.Lines[i], &over[i]
			i++
			plays.Go(func() error {
				if ctx.Err() != nil {
					return nil
				}
				r.play(ctx, act, part, line)
				told.Lock()
				defer told.Unlock()
				if ctx.Err() != nil {
					return nil // the line says nothing but that
				}
				if *over = true; options.Progress != nil {
					options.Progress(*line)
				}
				return nil
			})
		}
	}
	_ = plays.Wait() // errors are in the lines
	kept := report.Lines[:0]
	for i, line := range report.Lines {
		if over[i] {
			kept = append(kept, line)
		}
	}
	report.Lines = kept
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

// version asks a server what it is.
func (r *run) version(ctx context.Context) (string, error) {
	s, err := redisproc.Start(ctx, redisproc.Config{Binary: r.options.Binary, Args: r.options.Args, Parent: r.dir})
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	if version, err := s.Info("valkey_version"); err == nil {
		return "valkey " + version, nil
	}
	version, err := s.Info("redis_version")
	return "redis " + version, err
}

// tries is how often a play is begun, before the machine is given up as too slow.
const tries = 4

// play fills in one line.
func (r *run) play(ctx context.Context, act Act, part Part, line *Line) {
	began := time.Now()
	defer func() { line.Took = time.Since(began) }()
	fail := func(err error) { line.Err = err.Error() }
	scenario, err := scenarios.ByID(act.Scenario)
	if err != nil {
		fail(err)
		return
	}
	line.Title = scenario.Title
	if line.Predicted, err = predict(act.Scenario, part.predictedBy()); err != nil {
		fail(err)
		return
	}
	ttl := act.ttl()
	for {
		history, notes, err := r.perform(ctx, act, part, ttl)
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

// conclude compares.
func (l *Line) conclude(history []Entry) {
	l.History = history
	l.Findings = Findings(history)
	l.Seen = kindsOf(l.Findings)
	l.Agrees = slices.Equal(l.Seen, l.Predicted)
	verdict, err := judge.Check(Operations(history), time.Minute)
	if err != nil {
		l.Judge = err.Error()
		return
	}
	l.Judge = verdict.String()
	l.JudgeAgrees = verdict == expected(l.Seen, history)
}

// expected is what package judge must say where these kinds were found.
func expected(kinds []simulation.ViolationKind, history []Entry) judge.Verdict {
	answer := func(broken bool) judge.Answer {
		if broken {
			return judge.Broken
		}
		return judge.Holds
	}
	// It knows that a write is stale by the tokens alone.
	tokens := slices.ContainsFunc(history, func(e Entry) bool { return e.What == wasAcquired && e.Token != 0 })
	has := func(kind simulation.ViolationKind) bool { return slices.Contains(kinds, kind) }
	return judge.Verdict{
		Exclusion: answer(has(simulation.TwoHolders)),
		Tokens:    answer(has(simulation.TokenOrder)),
		Resource:  answer(has(simulation.LostUpdate) || tokens && has(simulation.StaleWrite)),
	}
}

// perform plays an act with one design, once.
func (r *run) perform(ctx context.Context, act Act, part Part, ttl time.Duration) (history []Entry, notes []string, err error) {
	cfg, err := settings(act.Scenario, part.Design)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(r.dir, strings.ToLower(act.Scenario)+"-")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, fmt.Errorf("live: %s with %s has taken too long", act.Name(), part.Design))
	defer cancel()
	s := &stage{ctx: ctx, run: r, dir: filepath.Clean(dir), act: act, part: part, cfg: cfg, ttl: ttl, alone: alone(act.Scenario, part.Design)}
	defer func() {
		notes = s.words
		if p := recover(); p != nil {
			end, ok := p.(stopped)
			if !ok {
				_ = s.close() // a panic goes on, but leaves nothing
				panic(p)
			}
			err = end.err
		}
		err = errors.Join(err, s.close())
	}()
	s.build()
	act.script(s)
	return s.history(), nil, nil
}

func alone(scenario, design string) bool {
	s, err := scenarios.ByID(scenario)
	if err != nil {
		return false
	}
	d, err := s.Design(design)
	return err == nil && d.Servers == 1
}
