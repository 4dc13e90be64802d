package simulation

import (
	"slices"
	"time"
)

// timer is due on a process's monotonic clock. It sends the time to a channel, or ends what
// waits for it.
type timer struct {
	p     *process
	due   int64
	ch    chan time.Time
	every int64 // of a Tick
	ends  timed // nil: it has a channel

	// Only the driver uses what follows.
	tie   uint64
	more  []*timer // others of the same moment that are indistinguishable
	bound bool     // a call's event ends it, see call.bindTimeout
	over  bool
}

// timed is a context or a call, which a timer ends.
type timed interface {
	waiting() bool
	expire()
}

// set sets a timer. The timers of a crashed process are due at once.
func (p *process) set(t *timer) {
	if p.dead.Load() {
		p.remain()
		if t.ch != nil {
			t.ch <- p.clock.now()
		} else {
			t.ends.expire()
		}
		return
	}
	p.post(t)
}

func (t *timer) order() opOrder {
	kind := 0
	if t.ends != nil {
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

// apply enters the timer, unless a call's event ends it.
func (t *timer) apply(w *world) {
	p := t.p
	if p.gone() {
		t.fire()
		return
	}
	if len(p.timers) >= p.sweepAt {
		p.timers = slices.DeleteFunc(p.timers, func(other *timer) bool { return !other.waiting() })
		p.sweepAt = max(64, 2*len(p.timers))
	}
	if t.waiting() && !t.bound || len(t.more) > 0 {
		t.tie = draw(w.seed, tagTimer, uint64(p.index), uint64(w.now.Load()), uint64(t.due))
		t.enter()
	}
}

// enter enters the timer's event.
func (t *timer) enter() {
	t.p.timers = append(t.p.timers, t)
	t.push()
}

func (t *timer) push() { t.p.w.push(t.p.clock.present().mono.when(t.due), t.tie, t.p, t) }

// reset enters all timers anew after the clock's rate has changed.
func (p *process) reset() {
	for _, t := range p.timers {
		t.push()
	}
}

// waiting reports whether the timer, on its own, still has an effect.
func (t *timer) waiting() bool { return !t.over && (t.ends == nil || t.ends.waiting()) }

func (t *timer) live() bool {
	if t.p.gone() || t.over {
		return false
	}
	all := func(t *timer) bool { return t.ends == nil || t.waiting() && !t.bound }
	return all(t) || slices.ContainsFunc(t.more, all)
}

func (t *timer) happen(w *world) {
	if t.ch != nil {
		w.timers++
	}
	if t.p.clock.present().mono.at(w.now.Load()) < t.due {
		t.push() // the clock was slower than foreseen
		return
	}
	w.awake = true
	t.fire()
}

// fire fires the timer and those that are joined to it.
func (t *timer) fire() {
	for _, one := range append([]*timer{t}, t.more...) {
		switch {
		case one.ends != nil && (!one.bound || one.p.dead.Load()):
			one.ends.expire()
		case one.ch != nil:
			select {
			case one.ch <- one.p.clock.now():
			default: // the last tick has not been read yet
			}
		}
	}
	t.over = true
	if t.every > 0 && !t.p.gone() {
		next := *t
		next.due, next.over = t.due+t.every, false
		next.enter()
	}
}
