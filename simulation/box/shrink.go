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
	if len(b.broken) > 0 {
		b.say("%s: played again for up to %v, after those of this client alone were made shorter for up to %v", wrap.Count(len(b.broken), "finding"), repeatFor, b.options.ShrinkFor)
	}
	limited, cancel := context.WithTimeoutCause(ctx, b.options.ShrinkFor, errTimeUp)
	defer cancel()
	b.each(func(k *Broken) {
		if !b.reference.shows(k.Shown.Schedule.faultOf(k.Fault), k.Kind) {
			b.shrink(limited, k)
		}
	})
	limited, cancel = context.WithTimeoutCause(ctx, repeatFor, errTimeUp)
	defer cancel()
	b.each(func(k *Broken) {
		for range repeats {
			p, err := b.plays(limited, k.Shown.Schedule, k.Shown.TTL, k.Shown.Servers)
			if err != nil {
				return
			}
			if k.Again++; p.shows(k.Kind) {
				k.Repeated++
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// each does something for all findings at once.
func (b *box) each(do func(*Broken)) {
	var running sync.WaitGroup
	for _, k := range b.broken {
		running.Go(func() { do(k) })
	}
	running.Wait()
}

// shrink makes a finding's schedule shorter. The faults go first: what is found without them is not their work.
func (b *box) shrink(ctx context.Context, k *Broken) {
	if ctx.Err() != nil {
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
