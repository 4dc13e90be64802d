package simulation

import (
	"context"
	"time"
)

// timer is something that is due on a process's monotonic clock: a channel's
// value, or the end of contexts.
type timer struct {
	p     *process
	due   int64
	ch    chan time.Time
	every int64 // of a Tick
	ctx   *timeout
	call  *call // that it is over for

	// Only the driver uses what follows.
	tie   uint64
	more  []*timer // others of the same moment that can't be told from this one
	bound bool     // its context's end is an event of its own, see process.bind
	over  bool
}

// set sets a timer; those of a process that has crashed are due at once.
func (p *process) set(t *timer) {
	if p.dead.Load() {
		p.remain()
		if t.ch != nil {
			t.ch <- p.clock.now()
		}
		return
	}
	p.post(t)
}

func (t *timer) order() opOrder {
	kind := 0
	if t.ctx != nil {
		kind = 1
	}
	return opOrder{process: t.p.index, kind: isTimer, op: kind, n: uint64(t.due), place: int(min(t.every, 1))}
}

// join joins a timer of the same process that was set in the same step for the same
// moment. The two are indistinguishable, so any order between them would depend on
// goroutine scheduling. They fire together.
func (t *timer) join(o op) bool {
	other, ok := o.(*timer)
	if !ok || other.order() != t.order() {
		return false
	}
	t.more = append(t.more, other)
	return true
}

// apply enters the timer, unless it is that of a context which a call has got:
// that is entered already.
func (t *timer) apply(w *world) {
	p := t.p
	if p.gone() {
		t.fire()
		return
	}
	if len(p.timers) >= p.sweepAt {
		kept := p.timers[:0]
		for _, other := range p.timers {
			if other.waiting() {
				kept = append(kept, other)
			}
		}
		clear(p.timers[len(kept):])
		p.timers = kept
		p.sweepAt = max(64, 2*len(kept))
	}
	if t.waiting() && !t.bound || len(t.more) > 0 {
		t.tie = draw(w.seed, tagTimer, uint64(p.index), uint64(w.now.Load()), uint64(t.due))
		p.enter(t)
	}
}

func (p *process) enter(t *timer) {
	p.timers = append(p.timers, t)
	p.w.push(p.clock.present().mono.when(t.due), t.tie, p, &due{t})
}

// reset enters all timers anew after the clock's rate has changed.
func (p *process) reset() {
	for _, t := range p.timers {
		p.w.push(p.clock.present().mono.when(t.due), t.tie, p, &due{t})
	}
}

// bind gives the timeout of a call's context a place of its own among the
// events of its moment, by the call's own name: the context itself has none, and
// all instances' timeouts are for the same moment.
func (p *process) bind(c *call) {
	ctx, _ := c.ctx.Value(timeoutKey{}).(*timeout)
	if ctx == nil || ctx.timer.bound || ctx.timer.p != p {
		return
	}
	t := &ctx.timer
	t.bound = true
	c.bound = timer{p: p, due: t.due, ctx: ctx, tie: c.tie(4)}
	p.enter(&c.bound)
}

// waiting reports whether the timer, on its own, has still something to do.
func (t *timer) waiting() bool {
	return !t.over && (t.ctx == nil || !t.ctx.ended()) && (t.call == nil || !t.call.answered)
}

// due is the moment of a timer.
type due struct{ t *timer }

func (d *due) live() bool {
	if d.t.p.gone() || d.t.over {
		return false
	}
	if d.t.call != nil {
		return d.t.waiting()
	}
	if d.t.ctx == nil || d.t.waiting() && !d.t.bound {
		return true
	}
	for _, other := range d.t.more {
		if other.waiting() && !other.bound {
			return true
		}
	}
	return false
}

func (d *due) happen(w *world) {
	t := d.t
	if t.ch != nil {
		w.timers++
	}
	if mono := t.p.clock.present().mono; mono.at(w.now.Load()) < t.due {
		w.push(mono.when(t.due), t.tie, t.p, d) // the clock went slower than foreseen
		return
	}
	w.woke = true
	t.fire()
}

// fire sets off the timer and those that are joined to it.
func (t *timer) fire() {
	for _, one := range append([]*timer{t}, t.more...) {
		switch {
		case one.call != nil:
			if !one.call.answered {
				one.call.giveUp(context.DeadlineExceeded)
			}
		case one.ctx != nil && (!one.bound || one.p.dead.Load()):
			one.ctx.end(context.DeadlineExceeded)
		case one.ch != nil:
			select {
			case one.ch <- one.p.clock.now():
			default: // a Tick that nobody has taken yet
			}
		}
	}
	t.over = true
	if t.every > 0 && !t.p.gone() {
		next := *t
		next.due, next.over = t.due+t.every, false
		t.p.enter(&next)
	}
}
