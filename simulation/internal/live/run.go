//go:build unix

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/record"
)

// Options configure Run.
type Options struct {
	// Binary is the server program. Default: redis-server.
	Binary string
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
	// Differs says which client got the lock and should not have, or the other way around.
	Differs string `json:"differs,omitempty"`
	// Skipped says why it did not run, and Err why it failed. With either, Agrees has no
	// meaning.
	Skipped string `json:"skipped,omitempty"`
	Err     string `json:"error,omitempty"`
	// Findings are the violations behind Seen. Schedule is what was played.
	Findings []box.Finding `json:"findings,omitempty"`
	Schedule box.Schedule  `json:"schedule,omitempty"`
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

// run is what all plays of a Run share.
type run struct {
	options Options
	driver  []string // starts the driver of a design, whose command line follows
}

// DriverCommand is the first argument of this program where it is a driver, see ParseDesign.
const DriverCommand = "driver"

// The TTL of the leases, and the longest to which it is raised on a slow machine.
const (
	shortTTL   = 1500 * time.Millisecond
	longestTTL = time.Minute
)

// Run runs cases on real servers with each of their designs, and compares the results
// with the predictions of the simulation. Disagreements are in the Report and are not
// errors. Run leaves no process and no file behind.
//
// The error Is redisproc.ErrMissing, or that of ctx. When ctx ends, the Report has the finished
// lines.
func Run(ctx context.Context, options Options) (report Report, err error) {
	began := time.Now()
	if options.Parallel <= 0 {
		options.Parallel = 4
	}
	if options.Cases == nil {
		options.Cases = Cases()
	}
	program, err := os.Executable()
	if err != nil {
		return report, fmt.Errorf("live: finding this program: %w", err)
	}
	r := run{options: options, driver: []string{program, DriverCommand}}
	if report.Server, err = (redisproc.Config{Binary: options.Binary}).Product(); err != nil {
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

// command starts the driver of a design.
func (r run) command(tc Case, design string) []string {
	command := append(slices.Clone(r.driver), "-scenario", tc.Scenario, "-user", tc.User)
	return append(command, "-timeout", time.Duration(tc.Timeouts[design]).String(), design)
}

// tries bounds how often a case is run if the machine is too slow.
const tries = 4

// play fills in one line.
func (r run) play(ctx context.Context, tc Case, design string, line *Line) {
	began := time.Now()
	defer func() { line.Took = time.Since(began) }()
	err := r.perform(ctx, tc, design, line)
	switch {
	case errors.Is(err, box.ErrNoClocks):
		line.Skipped = strings.TrimPrefix(err.Error(), "box: ")
	case err != nil:
		line.Err = err.Error()
	}
}

// perform plays a case with one design, again with a longer TTL if the machine was too slow.
func (r run) perform(ctx context.Context, tc Case, design string, line *Line) error {
	p, err := prepare(tc, design)
	line.Title, line.Predicted, line.Schedule = p.title, p.predicted, p.schedule
	if err != nil {
		return err
	}
	options := box.Options{
		Command: r.command(tc, design), Binary: r.options.Binary, Args: tc.Args,
		WritesAlone: p.guard == simulation.GuardWrites, Parallel: 1,
	}
	replay := box.Replay{Servers: p.servers, TTL: cmp.Or(time.Duration(tc.TTL), shortTTL), Schedule: p.schedule}
	for {
		_, plays, err := replay.Play(ctx, options, 1)
		if err != nil {
			return err
		}
		line.conclude(plays[0])
		line.Differs = differs(p.holders, plays[0])
		if late := line.Differs != "" || !line.Agrees && plays[0].Idle > 0; !late || line.Again+1 == tries {
			line.Agrees = line.Agrees && line.Differs == ""
			return nil
		}
		line.Again++
		replay.TTL = min(2*replay.TTL, longestTTL)
	}
}

// differs says which client got the lock and should not have, or the other way around. It is "" if
// none did, or if nothing is known.
func differs(holders map[string]bool, p box.Play) string {
	if holders == nil {
		return ""
	}
	got := holdersOf(p.Record)
	for client := range holders {
		if !got[client] {
			return client + " didn't get the lock, as it does in the simulation"
		}
	}
	for client := range got {
		if !holders[client] {
			return client + " got the lock, which it doesn't in the simulation"
		}
	}
	return ""
}

// conclude compares a play with the prediction.
func (l *Line) conclude(p box.Play) {
	l.Findings, l.Seen = nil, nil
	log := p.Record
	events := slices.Collect(log.All())
	for _, f := range check.Violations(log, check.Rules{}) {
		l.Findings = append(l.Findings, box.Finding{Kind: box.Kind(f.Kind), Seq: int(events[f.Event].N), Text: f.Text})
	}
	for _, f := range p.Findings {
		if f.Kind == box.NoProgress || f.Kind == box.NeverFree {
			l.Findings = append(l.Findings, f)
		}
	}
	for _, f := range l.Findings {
		l.Seen = append(l.Seen, record.ViolationKind(f.Kind))
	}
	slices.Sort(l.Seen)
	l.Seen = slices.Compact(l.Seen)
	l.Agrees = slices.Equal(l.Seen, l.Predicted)
}
