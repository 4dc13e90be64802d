//go:build unix

package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Play plays a replay's schedule several times. Its report has the findings of all plays.
func (r Replay) Play(ctx context.Context, o Options, times int) (report Report, plays []Play, err error) {
	o.Servers, o.TTL, o.Parallel = r.Servers, r.TTL, 1
	if len(r.Schedule) == 0 {
		return report, nil, fmt.Errorf("%w: the replay has no schedule", ErrOptions)
	}
	if err := r.Schedule.validate(max(1, min(r.Servers, len(letters)))); err != nil {
		return report, nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	began := time.Now()
	// A server that keeps its data has a disk that loses what was not synced.
	b, err := open(ctx, o, r.Schedule.needsClocks() || slices.Contains(o.Args, "--appendonly"))
	if err != nil {
		return report, nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if b.clocks.none != nil {
		return report, nil, b.clocks.none
	}
	report = b.report()
	b.say("accepted: %s; a replay, %d times", report.subject(), times)
	for range times {
		p, err := b.plays(ctx, r.Schedule, r.TTL, r.Servers)
		if err == nil {
			plays = append(plays, p)
		}
		c := Case{Fault: r.Schedule.faultOf(r.Fault), Title: fmt.Sprintf("replay of %s, found in %s", r.Kind, r.Name)}
		if err := b.took(c, p, err); err != nil {
			return report, plays, err
		}
	}
	b.conclude(&report, began)
	for _, k := range found(report.Tallies) {
		k.Repeated, k.Again = k.Plays, times
	}
	return report, plays, nil
}
