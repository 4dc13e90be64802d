//go:build unix

package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

// The TTL of the leases, and the longest to which it is raised on a slow machine.
const (
	shortTTL   = 1500 * time.Millisecond
	longestTTL = time.Minute
)

// Run runs cases on real servers with each of their designs, and compares the results
// with the predictions of the simulation. Disagreements are in the Report and are not
// errors. Run leaves no process and no file behind. The binary is the server program, "" for
// redis-server. Progress, if not nil, is called with each finished Line; calls do not overlap.
//
// The error Is redisproc.ErrMissing, or that of ctx.
func Run(ctx context.Context, binary string, all []Case, progress func(Line)) (report Report, err error) {
	began := time.Now()
	if report.Server, err = (redisproc.Config{Binary: binary}).Product(); err != nil {
		return report, err
	}
	var cases []Case // of each line
	for _, tc := range all {
		for _, design := range tc.Designs {
			cases = append(cases, tc)
			report.Lines = append(report.Lines, Line{Scenario: tc.Scenario, Fault: tc.Fault, Design: design})
		}
	}
	var plays errgroup.Group
	plays.SetLimit(4)
	var mu sync.Mutex // of progress
	for i, tc := range cases {
		plays.Go(func() error {
			line := &report.Lines[i]
			if ctx.Err() == nil {
				switch err := play(ctx, binary, tc, line); {
				case errors.Is(err, box.ErrNoClocks):
					line.Skipped = strings.TrimPrefix(err.Error(), "box: ")
				case err != nil:
					line.Err = err.Error()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil && progress != nil {
				progress(*line)
			}
			return context.Cause(ctx)
		})
	}
	if err := plays.Wait(); err != nil { // others are in the lines
		return Report{}, err
	}
	report.Took = time.Since(began)
	for _, line := range report.Lines {
		if line.Skipped != "" {
			report.Skipped++
			continue
		}
		if report.Played++; !line.OK() {
			report.Disagreements++
		}
	}
	return report, nil
}

// tries bounds how often a case is run if the machine is too slow.
const tries = 4

// play plays a case with one design, again with a longer TTL if the machine may have been too slow.
func play(ctx context.Context, binary string, tc Case, line *Line) error {
	scenario, lock, err := settings(tc.Scenario, line.Design)
	if err != nil {
		return err
	}
	want := Visible(scenario, line.Design)
	line.Predicted = want.Kinds
	cfg, _, _ := scenario.Setting(lock)
	options := box.Options{
		Binary: binary, Args: tc.Args, WritesAlone: cfg.Guard == simulation.GuardWrites,
		Servers: cmp.Or(cfg.Servers, 5), TTL: cmp.Or(time.Duration(tc.TTL)*time.Second, shortTTL),
	}
	if lock.Servers == 1 {
		options.Servers = 1
	}
	steps, err := tc.steps(options.Servers, want)
	if err != nil {
		return err
	}
	options.Schedule = steps.String()
	if options.Command, err = tc.command(line.Design); err != nil {
		return err
	}
	for !line.Agrees && line.Plays < tries {
		line.Plays++
		played, err := box.Once(ctx, options)
		if err != nil {
			return err
		}
		line.conclude(played, want)
		options.TTL = min(2*options.TTL, longestTTL)
	}
	return nil
}

// conclude compares a play with the verdict.
func (l *Line) conclude(p box.Play, want scenarios.Verdict) {
	l.Findings, l.Seen, l.Differs = p.Findings, nil, ""
	for _, f := range check.Violations(p.Record, check.Rules{Requests: true}) {
		l.Seen = append(l.Seen, f.Kind)
	}
	for _, f := range p.Findings {
		if f.Kind == box.NoProgress || f.Kind == box.NeverFree {
			l.Seen = append(l.Seen, record.ViolationKind(f.Kind))
		}
	}
	slices.Sort(l.Seen)
	l.Seen = slices.Compact(l.Seen)
	if err := want.Happened(p.Record); err != nil {
		l.Differs = err.Error()
	}
	l.Agrees = slices.Equal(l.Seen, l.Predicted) && l.Differs == ""
}
