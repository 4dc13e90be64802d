//go:build unix

package box

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation/internal/shorten"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// slow: each play of it takes long, so that no steps but the faults are taken from its schedule.
func (k Kind) slow() bool { return k == Slow || k == NoAnswer }

// repeats is how often a finding's schedule is played again at the end, and repeatFor how long
// that may take.
const (
	repeats   = 3
	repeatFor = time.Minute
)

// shrinks makes the schedules of the findings shorter and plays them again. Plays get servers in turn, so that
// each is played once before any is played twice.
func (b *box) shrinks(ctx context.Context) error {
	if all := groups(b.tallies); len(all) > 0 {
		b.say("%s with findings: made shorter for up to %v, and played again for up to %v", wrap.Count(len(all), "schedule"), b.options.ShrinkFor, repeatFor)
	}
	limited, cancel := context.WithTimeoutCause(ctx, b.options.ShrinkFor, errTimeUp)
	defer cancel()
	b.each(func(g *group) { b.shrink(limited, g) })
	limited, cancel = context.WithTimeoutCause(ctx, repeatFor, errTimeUp)
	defer cancel()
	b.each(func(g *group) { b.repeats(limited, g) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// each does something for all groups at once.
func (b *box) each(do func(*group)) {
	var running sync.WaitGroup
	for _, g := range groups(b.tallies) {
		running.Go(func() { do(g) })
	}
	running.Wait()
}

// repeats plays a group's schedule again.
func (b *box) repeats(ctx context.Context, g *group) {
	for range repeats {
		p, err := b.plays(ctx, g.Schedule, g.TTL, g.Servers)
		if err != nil {
			return
		}
		for _, k := range g.Kinds {
			if k.Again++; p.shows(k.Kind) {
				k.Repeated++
			}
		}
	}
}

// shrink makes a group's schedule shorter. The faults go first: what is found without them is not their
// work.
func (b *box) shrink(ctx context.Context, g *group) {
	if ctx.Err() != nil {
		return
	}
	kinds := slices.Clone(g.Kinds)
	if bare := g.Schedule.withoutFaults(); len(bare) < len(g.Schedule) {
		p, err := b.plays(ctx, bare, g.TTL, g.Servers)
		if err != nil {
			return
		}
		var without []*Broken
		kinds = slices.DeleteFunc(kinds, func(k *Broken) bool {
			if p.shows(k.Kind) {
				without = append(without, k)
			}
			return p.shows(k.Kind)
		})
		b.shorten(ctx, p, without)
	}
	b.shorten(ctx, g.Play, kinds)
}

// shorten has a play show its kinds, and removes steps for as long as it shows them all.
func (b *box) shorten(ctx context.Context, p Play, kinds []*Broken) {
	show := func() {
		for _, k := range kinds {
			if p.shows(k.Kind) {
				k.Shown = p
			}
		}
	}
	show()
	if kinds = slices.DeleteFunc(kinds, func(k *Broken) bool { return k.Kind.slow() }); len(kinds) == 0 {
		return
	}
	shorten.List(p.Schedule, func(schedule Schedule) bool {
		smaller, err := b.plays(ctx, schedule, p.TTL, p.Servers)
		if err != nil || slices.ContainsFunc(kinds, func(k *Broken) bool { return !smaller.shows(k.Kind) }) {
			return false
		}
		p = smaller
		return true
	})
	show()
}
