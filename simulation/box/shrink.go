//go:build unix

package box

import (
	"context"
	"slices"
	"sync"
	"time"
)

// shown is a play, and the findings of one fault that it shows with the shortest schedule.
type shown struct {
	play  Play
	kinds []*Broken
}

// shows reports whether a play shows all kinds.
func (s *shown) shows(p Play) bool {
	return !slices.ContainsFunc(s.kinds, func(k *Broken) bool { return !p.shows(k.Kind) })
}

// same reports whether a play of the same schedule shows another finding.
func (p Play) same(o Play) bool {
	return p.Servers == o.Servers && p.TTL == o.TTL && slices.Equal(p.Schedule, o.Schedule)
}

// shown lists the findings by the plays that show them.
func (r *running) shown() (all []*shown) {
	for i := range r.tallies {
		from := len(all)
		for j := range r.tallies[i].Kinds {
			k := &r.tallies[i].Kinds[j]
			at := slices.IndexFunc(all[from:], func(s *shown) bool { return s.play.same(k.Shown) && s.slow() == k.Kind.slow() })
			if at < 0 {
				at = len(all) - from
				all = append(all, &shown{play: k.Shown})
			}
			all[from+at].kinds = append(all[from+at].kinds, k)
		}
	}
	return all
}

// slow: each play of it takes long, so that its schedule isn't made shorter.
func (k Kind) slow() bool { return k == Slow || k == NoAnswer }

func (s *shown) slow() bool { return s.kinds[0].Kind.slow() }

// repeats is how often a finding's schedule is played again at the end, and repeatFor how long
// that may take.
const (
	repeats   = 3
	repeatFor = 45 * time.Second
)

// shrinks makes the schedules of the findings shorter and plays them again: each once, before any is
// played twice.
func (r *running) shrinks(ctx context.Context) error {
	all := r.shown()
	if len(all) > 0 {
		r.say("%s with findings: made shorter for up to %v, and played again for up to %v", count(len(all), "schedule"), r.options.ShrinkFor, repeatFor)
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.options.ShrinkFor, errTimeUp)
	defer cancel()
	each(all, func(s *shown) { r.shrink(limited, s) })
	limited, cancel = context.WithTimeoutCause(ctx, repeatFor, errTimeUp)
	defer cancel()
	all = r.shown()
	for range repeats {
		each(all, func(s *shown) { r.repeat(limited, s) })
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// each does something for all at once.
func each(all []*shown, do func(*shown)) {
	var running sync.WaitGroup
	for _, s := range all {
		running.Go(func() { do(s) })
	}
	running.Wait()
}

// repeat plays a schedule again.
func (b *box) repeat(ctx context.Context, s *shown) {
	p, err := b.plays(ctx, s.play.Schedule, s.play.TTL, s.play.Servers)
	if err != nil {
		return
	}
	for _, k := range s.kinds {
		if k.Again++; p.shows(k.Kind) {
			k.Repeated++
		}
	}
}

// shrink removes steps from the schedule for as long as a play shows all kinds. The faults go first: what
// is found without them is no work of theirs.
func (b *box) shrink(ctx context.Context, s *shown) {
	if s.slow() || ctx.Err() != nil {
		return
	}
	bare := s.play
	if bare.Schedule = s.play.Schedule.withoutFaults(); len(bare.Schedule) < len(s.play.Schedule) {
		p, err := b.plays(ctx, bare.Schedule, bare.TTL, bare.Servers)
		if err != nil {
			return
		}
		without := &shown{play: p}
		s.kinds = slices.DeleteFunc(s.kinds, func(k *Broken) bool {
			if p.shows(k.Kind) {
				without.kinds = append(without.kinds, k)
			}
			return p.shows(k.Kind)
		})
		b.shorten(ctx, without)
	}
	b.shorten(ctx, s)
}

// shorten removes steps, many at once at first.
func (b *box) shorten(ctx context.Context, s *shown) {
	if len(s.kinds) == 0 {
		return
	}
	for size := max(1, len(s.play.Schedule)/2); ctx.Err() == nil; size = max(1, size/2) {
		before := len(s.play.Schedule)
		for from := before - size; from >= 0 && ctx.Err() == nil; from -= size {
			schedule := slices.Delete(slices.Clone(s.play.Schedule), from, from+size)
			if p, err := b.plays(ctx, schedule, s.play.TTL, s.play.Servers); err == nil && s.shows(p) {
				s.play = p
			}
		}
		// Of two steps that need each other, such as pause and resume, the first goes in one
		// round and the second in the next.
		if size == 1 && len(s.play.Schedule) == before {
			break
		}
	}
	for _, k := range s.kinds {
		if s.play.shows(k.Kind) {
			k.Shown = s.play
		}
	}
}
