package kernel

import (
	"context"
	"slices"
	"time"
)

// Timer is due on a process's monotonic clock. It sends the time to a channel, or ends what
// waits for it.
type Timer struct {
	p    *Process
	due  int64
	ch   chan time.Time
	ends timed // nil: it has a channel

	// Only the driver uses what follows.
	tie   uint64
	more  []*Timer // others of the same moment that are indistinguishable
	bound bool     // a call's event ends it, a call's event ends it
	over  bool
}

// timed is a context or a call, which a timer ends.
type timed interface {
	Waiting() bool
	Expire()
}

// set sets a timer. The timers of a crashed process are due at once.
func (p *Process) set(t *Timer) {
	if p.Dead.Load() {
		p.Remain()
		if t.ch != nil {
			t.ch <- p.Clock.Now()
		} else {
			t.ends.Expire()
		}
		return
	}
	p.Post(t)
}

func (t *Timer) Order() OpOrder {
	kind := 0
	if t.ends != nil {
		kind = 1
	}
	return OpOrder{Process: t.p.Index, Kind: isTimer, Op: kind, N: uint64(t.due)}
}

// join joins a timer of the same process that was set in the same step for the same
// moment. The two are indistinguishable, so any order between them would depend on
// goroutine scheduling. They fire together.
func (t *Timer) join(o Op) bool {
	other, ok := o.(*Timer)
	if !ok || other.Order() != t.Order() {
		return false
	}
	t.more = append(t.more, other)
	return true
}

// Apply enters the timer, unless a call's event ends it.
func (t *Timer) Apply() {
	p := t.p
	if p.Gone() {
		t.fire()
		return
	}
	if len(p.timers) >= p.sweepAt {
		p.timers = slices.DeleteFunc(p.timers, func(other *Timer) bool { return !other.Waiting() })
		p.sweepAt = max(64, 2*len(p.timers))
	}
	if t.Waiting() && !t.bound || len(t.more) > 0 {
		t.tie = Draw(p.kernel.Seed, tagTimer, uint64(p.Index), uint64(p.kernel.Now.Load()), uint64(t.due))
		t.enter()
	}
}

// Bind enters a timer of a call: its end is named after the call, and doesn't depend on the order in
// which timers are set.
func (t *Timer) Bind(p *Process, due int64, ends timed, tie uint64) {
	*t = Timer{p: p, due: due, ends: ends, tie: tie}
	t.enter()
}

// BindTo binds the timeout of a context to a call. Contexts have no names, and the timeouts of all
// servers are due at the same moment.
func (t *Timer) BindTo(p *Process, ctx context.Context, tie uint64) {
	of, _ := ctx.Value(timeoutKey{}).(*timeout)
	if of == nil || of.timer.bound || of.timer.p != p {
		return
	}
	of.timer.bound = true
	t.Bind(p, of.timer.due, of, tie)
}

// enter enters the timer's event.
func (t *Timer) enter() {
	t.p.timers = append(t.p.timers, t)
	t.push()
}

func (t *Timer) push() { t.p.kernel.Push(t.p.Clock.Present().Mono.When(t.due), t.tie, t.p, t) }

// Reset enters all timers anew after the clock's rate has changed.
func (p *Process) Reset() {
	for _, t := range p.timers {
		t.push()
	}
}

// Waiting reports whether the timer, on its own, still has an effect.
func (t *Timer) Waiting() bool { return !t.over && (t.ends == nil || t.ends.Waiting()) }

func (t *Timer) Live() bool {
	if t.p.Gone() || t.over {
		return false
	}
	all := func(t *Timer) bool { return t.ends == nil || t.Waiting() && !t.bound }
	return all(t) || slices.ContainsFunc(t.more, all)
}

func (t *Timer) Happen() {
	k := t.p.kernel
	if t.ch != nil {
		k.Timers++
	}
	if t.p.Clock.Present().Mono.At(k.Now.Load()) < t.due {
		t.push() // the clock was slower than foreseen
		return
	}
	k.Awake = true
	t.fire()
}

// fire fires the timer and those that are joined to it.
func (t *Timer) fire() {
	for _, one := range append([]*Timer{t}, t.more...) {
		switch {
		case one.ends != nil && (!one.bound || one.p.Dead.Load()):
			one.ends.Expire()
		case one.ch != nil:
			select {
			case one.ch <- one.p.Clock.Now():
			default: // it has fired before
			}
		}
	}
	t.over = true
}
