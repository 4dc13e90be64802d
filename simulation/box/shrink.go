//go:build unix

package box

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slow: each play of it takes long, so that its schedule isn't made shorter.
func (k Kind) slow() bool { return k == Slow || k == NoAnswer }

// repeats is how often a finding's schedule is played again at the end, and repeatFor how long
// that may take.
const (
	repeats   = 3
	repeatFor = time.Minute
)

// shrinks makes the schedules of the findings shorter and plays them again. Plays get servers in turn, so that
// each is played once before any is played twice.
func (r *running) shrinks(ctx context.Context) error {
	if all := groups(r.tallies); len(all) > 0 {
		r.say("%s with findings: made shorter for up to %v, and played again for up to %v", count(len(all), "schedule"), r.options.ShrinkFor, repeatFor)
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.options.ShrinkFor, errTimeUp)
	defer cancel()
	r.each(func(g *group) { r.shrink(limited, g) })
	limited, cancel = context.WithTimeoutCause(ctx, repeatFor, errTimeUp)
	defer cancel()
	r.each(func(g *group) { r.repeats(limited, g) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// each does something for all groups at once.
func (r *running) each(do func(*group)) {
	var running sync.WaitGroup
	for _, g := range groups(r.tallies) {
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
	kinds := slices.DeleteFunc(slices.Clone(g.Kinds), func(k *Broken) bool { return k.Kind.slow() })
	if len(kinds) == 0 || ctx.Err() != nil {
		return
	}
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

// shorten removes steps for as long as the play still shows all kinds.
func (b *box) shorten(ctx context.Context, p Play, kinds []*Broken) {
	if len(kinds) == 0 {
		return
	}
	lacks := func(p Play) bool {
		return slices.ContainsFunc(kinds, func(k *Broken) bool { return !p.shows(k.Kind) })
	}
	for size := max(1, len(p.Schedule)/2); ctx.Err() == nil; size = max(1, size/2) {
		before := len(p.Schedule)
		for from := before - size; from >= 0 && ctx.Err() == nil; from -= size {
			schedule := slices.Delete(slices.Clone(p.Schedule), from, from+size)
			if smaller, err := b.plays(ctx, schedule, p.TTL, p.Servers); err == nil && !lacks(smaller) {
				p = smaller
			}
		}
		// Of two steps that need each other, such as pause and resume, the first goes in one
		// round and the second in the next.
		if size == 1 && len(p.Schedule) == before {
			break
		}
	}
	if !lacks(p) {
		for _, k := range kinds {
			k.Shown = p
		}
	}
}
