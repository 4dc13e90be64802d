//go:build unix

package box

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation/internal/shorten"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// repeats is how often a finding's schedule is played again at the end, and repeatFor how long
// that may take.
const (
	repeats   = 3
	repeatFor = time.Minute
)

// shrinks makes the schedules of the client's own findings shorter, and plays those of all findings again. Plays get
// servers in turn, so that each is played once before any is played twice.
func (b *box) shrinks(ctx context.Context) error {
	if len(b.report.Broken) == 0 || b.options.ShrinkFor == 0 {
		return nil
	}
	b.say("%s: those of this client alone are made shorter for up to %v, and then all are played again for up to %v", wrap.Count(len(b.report.Broken), "finding"), b.options.ShrinkFor, repeatFor)
	for _, step := range []struct {
		most time.Duration
		do   func(context.Context, *Broken)
	}{{b.options.ShrinkFor, b.shrink}, {repeatFor, b.repeat}} {
		limited, cancel := context.WithTimeoutCause(ctx, step.most, errTimeUp)
		var running sync.WaitGroup
		for _, k := range b.report.Broken {
			running.Go(func() { step.do(limited, k) })
		}
		running.Wait()
		cancel()
	}
	return context.Cause(ctx)
}

// repeat plays a finding's schedule again.
func (b *box) repeat(ctx context.Context, k *Broken) {
	for range repeats {
		p, err := b.plays(ctx, k.Shown.Schedule, k.Shown.TTL, k.Shown.Servers)
		if err != nil {
			return
		}
		if k.Again++; p.shows(k.Kind) {
			k.Repeated++
		}
	}
}

// shrink makes the schedule of a finding shorter that is the client's own. The faults go first: what is found without
// them is not their work.
func (b *box) shrink(ctx context.Context, k *Broken) {
	if ctx.Err() != nil || isLimit(k.Fault, k.Kind) {
		return
	}
	shows := func(schedule Schedule) bool {
		p, err := b.plays(ctx, schedule, k.Shown.TTL, k.Shown.Servers)
		if err != nil || !p.shows(k.Kind) {
			return false
		}
		k.Shown = p
		return true
	}
	if bare := k.Shown.Schedule.withoutFaults(); len(bare) < len(k.Shown.Schedule) {
		shows(bare)
	}
	if k.Kind != Slow && k.Kind != NoAnswer { // each play of these takes long
		shorten.List(k.Shown.Schedule, shows)
	}
}
