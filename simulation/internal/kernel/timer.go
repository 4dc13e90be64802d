package kernel

import (
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
	tie  uint64
	step uint64   // in which it was set
	more []*Timer // others of the same moment that are indistinguishable
	over bool
}

// timed is a context or a call, which a timer ends.
type timed interface {
	Waiting() bool
	Expire()
}

// After sends the time once d has passed on the monotonic clock.
func (p *Process) After(d time.Duration) <-chan time.Time {
	ch := make(chan time.Time, 1)
	p.set(&Timer{p: p, due: p.Mono() + int64(max(0, d)), ch: ch})
	return ch
}

// Sleep returns once d has passed on the monotonic clock.
func (p *Process) Sleep(d time.Duration) { <-p.After(d) }

// set sets a timer. The timers of a crashed process are due at once.
func (p *Process) set(t *Timer) {
	if p.Dead.Load() {
		p.Remain()
		t.fire()
		return
	}
	order := OpOrder{Kind: isTimer, N: uint64(t.due)}
	if t.ends != nil {
		order.Op = 1
	}
	p.Post(order, t.enter)
}

// enter enters a timer that was set. It joins a timer of the same process that was set in the same step for
// the same moment. The two are indistinguishable, so any order between them would depend on goroutine
// scheduling. They fire together.
func (t *Timer) enter() {
	p := t.p
	if p.Gone() {
		t.fire()
		return
	}
	if len(p.timers) >= p.sweepAt {
		p.timers = slices.DeleteFunc(p.timers, (*Timer).ended)
		p.sweepAt = max(64, 2*len(p.timers))
	}
	if !t.Waiting() {
		return
	}
	t.step = p.kernel.steps
	if n := len(p.timers); n > 0 {
		if o := p.timers[n-1]; o.step == t.step && o.due == t.due && (o.ends == nil) == (t.ends == nil) {
			o.more = append(o.more, t)
			return
		}
	}
	t.tie = Draw(p.kernel.Seed, tagTimer, uint64(p.Index), uint64(p.kernel.Now.Load()), uint64(t.due))
	t.add()
}

// Bind enters a timer of a call: its end is named after the call, and doesn't depend on the order in
// which timers are set.
func (t *Timer) Bind(p *Process, due int64, ends timed, tie uint64) {
	*t = Timer{p: p, due: due, ends: ends, tie: tie}
	t.add()
}

func (t *Timer) add() {
	t.p.timers = append(t.p.timers, t)
	t.push()
}

func (t *Timer) push() { t.p.Push(t.p.Present().Mono.When(t.due), t.tie, t.ended, t.happen) }

// Reset enters all timers anew after the clock's rate has changed.
func (p *Process) Reset() {
	for _, t := range p.timers {
		t.push()
	}
}

// DropTimers fires all timers of a process that has died.
func (p *Process) DropTimers() {
	for _, t := range p.timers {
		t.fire()
	}
	p.timers = nil
}

// Waiting reports whether the timer, on its own, still has an effect.
func (t *Timer) Waiting() bool { return !t.over && (t.ends == nil || t.ends.Waiting()) }

// ended reports whether nothing waits for the timer and those that are joined to it.
func (t *Timer) ended() bool {
	return t.p.Gone() || t.over || !t.Waiting() && !slices.ContainsFunc(t.more, (*Timer).Waiting)
}

func (t *Timer) happen() {
	k := t.p.kernel
	if t.p.Mono() < t.due {
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
		case one.ends != nil:
			one.ends.Expire()
		case one.ch != nil:
			select {
			case one.ch <- one.p.Now():
			default: // it has fired before
			}
		}
	}
	t.over = true
}
