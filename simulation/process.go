package simulation

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum"
)

// process is one client process: its clock, its connections, its Coordinator, and
// the goroutine that runs the workload.
type process struct {
	w     *world
	index int
	name  string
	clock *Clock
	links []link // one for each place, and the resource's last
	calls map[*call]struct{}

	life        int // counts its lives from 0
	pausedUntil int64
	quarantines map[string]int64 // by instance: until when it was told not to let it vote
	shuffled    bool
	asleepUntil int64

	// dead is set when the process has crashed. Its goroutines then run on, since
	// nothing can end them from outside, but cut off from the world: every call
	// fails at once, every timer is due, and nothing they do is seen.
	dead  atomic.Bool
	ended bool // its workload has returned, and its Coordinator is closed

	timers  []*timer // those not over, and some that are
	sweepAt int

	coordinator atomic.Pointer[quorum.Coordinator]
	ctx         context.Context
	cut         context.CancelCauseFunc // ends ctx when the process crashes; may be nil
	remains     atomic.Int64            // what was asked for since
}

func newProcess(w *world, index int, name string) *process {
	p := &process{w: w, index: index, name: name, links: make([]link, len(w.places)+1), calls: map[*call]struct{}{}, sweepAt: 64}
	p.clock = newClock(p, w.now.Load())
	// A Coordinator is closed when its process crashes, and a context without an end
	// spares it some work.
	p.ctx = context.Background()
	if w.cfg.Locker != nil {
		p.ctx, p.cut = context.WithCancelCause(p.ctx)
	}
	return p
}

// gone reports whether nothing of the process is to be seen any more. For the
// driver.
func (p *process) gone() bool { return p.ended || p.dead.Load() }

func (p *process) post(o op) { p.w.post(o) }

// begin starts a process.
type begin struct {
	p    *process
	work Workload
}

func (b *begin) live() bool { return !b.p.gone() }

func (b *begin) happen(w *world) {
	w.trace.at(w.now.Load(), b.p.name).s("starts").end()
	w.woke = true
	go b.p.main(b.work)
}

// main is the process's own goroutine.
func (p *process) main(work Workload) {
	defer p.post(&end{p})
	client := &Client{Name: p.name, Index: p.index, Life: p.life, p: p, ctx: p.ctx, holdings: map[Lease]*holding{}}
	defer func() {
		if fault := recover(); fault != nil {
			p.panicked(fmt.Sprintf("%v\n%s", fault, debug.Stack()))
		}
		if client.Locker == nil {
			return
		}
		if err := client.Locker.Close(p.ctx); err != nil && !p.dead.Load() {
			p.panicked(err.Error())
		}
	}()
	locker, err := p.w.cfg.newLocker(p.parts(client.hooks()))
	if err != nil {
		p.panicked(err.Error())
		return
	}
	client.Locker = locker
	if on, ok := locker.(Coordinated); ok {
		client.Coordinator = on.Coordinator()
		p.coordinator.Store(client.Coordinator)
	}
	work(client)
}

func (p *process) panicked(text string) {
	p.post(&report{p: p, kind: Panicked, text: p.name + ": " + text})
}

// parts is what the process's Locker is made of.
func (p *process) parts(hooks quorum.Hooks) Process {
	cfg := p.w.cfg.Quorum
	cfg.Clock = p.clock
	cfg.Random = &values{seed: p.w.seed, process: uint64(p.index) | uint64(p.life)<<32}
	cfg.Owner = p.name
	cfg.Hooks = hooks
	parts := Process{Name: p.name, Index: p.index, Config: cfg}
	for i := range p.w.places {
		inst := instance{p: p, place: i}
		if p.w.cfg.Plain {
			parts.Instances = append(parts.Instances, inst)
		} else {
			parts.Instances = append(parts.Instances, starter{inst})
		}
		parts.Redis = append(parts.Redis, door{p: p, place: i})
	}
	return parts
}

// end is a process's last operation.
type end struct{ p *process }

func (e *end) order() opOrder { return opOrder{process: e.p.index, kind: isEnd} }

func (e *end) apply(w *world) {
	if e.p.gone() {
		return
	}
	e.p.ended = true
	w.trace.at(w.now.Load(), e.p.name).s("ends").end()
}

// pause stops the process until a moment.
func (p *process) pause(until int64, shuffled bool) {
	p.pausedUntil, p.shuffled = max(p.pausedUntil, until), shuffled
	p.w.count.add(processPaused)
}

// suspend pauses the process together with its clocks.
func (p *process) suspend(until int64, frozen, shuffled bool) {
	p.pause(until, shuffled)
	p.asleepUntil = max(p.asleepUntil, until)
	p.clock.sleep(p.w.now.Load(), frozen)
	p.w.ahead(p.asleepUntil, &awake{p})
}

// awake is the end of a suspension.
type awake struct{ p *process }

func (a *awake) live() bool { return !a.p.gone() }

func (a *awake) happen(w *world) {
	if w.now.Load() >= a.p.asleepUntil {
		a.p.clock.wake(w.now.Load())
		a.p.reset()
	}
}

// reboot starts the process anew after a while: another Coordinator, with the
// machine's clocks as they go on.
func (p *process) reboot(after int64) {
	if p.gone() {
		return
	}
	p.crash()
	p.w.reboots++
	p.w.ahead(p.w.now.Load()+after, &rebooted{p})
}

// rebooted is the next life's beginning.
type rebooted struct{ p *process }

func (b *rebooted) live() bool { return true }

func (b *rebooted) happen(w *world) {
	w.reboots--
	p := newProcess(w, b.p.index, b.p.name)
	p.life = b.p.life + 1
	p.clock.inherit(b.p.clock, w.now.Load())
	for i := range p.links {
		p.links[i].seq = b.p.links[i].seq // calls are drawn for by their numbers
	}
	w.processes[p.index] = p
	w.count.add(processRebooted)
	w.start(p, w.work)
}

// crash ends the process. What it has sent stays on its way.
func (p *process) crash() {
	if p.gone() {
		return
	}
	w := p.w
	w.trace.at(w.now.Load(), p.name).s("crashes").end()
	w.count.add(processCrashed)
	w.check.crashed(p)
	p.dead.Store(true)
	w.woke = true
	// Before anything else is told: what waits for the Coordinator's end must not
	// begin another round.
	if c := p.coordinator.Load(); c != nil {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(over) // it says that goroutines are left, and they are
	}
	if p.cut != nil {
		p.cut(ErrCrashed)
	}
	for c := range p.calls {
		c.abandon()
	}
	clear(p.calls)
	for _, t := range p.timers {
		t.fire()
	}
	p.timers = nil
}

// set sets a timer; those of a process that has crashed are due at once.
func (p *process) set(t *timer) {
	if p.dead.Load() {
		p.remain()
		if t.ch != nil {
			t.ch <- p.clock.Now()
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

// bind gives the time-out of a call's context a place of its own among the
// events of its moment, by the call's own name: the context itself has none, and
// all instances' time-outs are for the same moment.
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

// waiting reports whether the timer, by itself, has still something to do.
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
			case one.ch <- one.p.clock.Now():
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

// byOperation is a fault that happens at a process's n-th operation.
type byOperation struct {
	Fault
	seen []int // by process, over all its lives
}

// byOperation lets the faults happen that this very call was waited for with.
func (w *world) byOperation(c *call) {
	for _, f := range w.byNth {
		if !matches(f.Process, c.p.name) || f.Op != "" && f.Op != c.name || w.now.Load() < int64(f.At) ||
			(f.Kind == Delay || f.Kind == Duplicate) && !matches(f.Server, c.placeName()) {
			continue
		}
		if c.p == w.witness {
			continue
		}
		f.seen[c.p.index]++
		if f.seen[c.p.index] != f.Nth {
			continue
		}
		switch f.Kind {
		case Delay:
			c.delay += f.By
			w.count.add(messageDelayed)
			continue
		case Duplicate:
			c.repeat, c.repeatBy = true, f.By
			continue
		}
		f.strike(w, c.p)
	}
}

// remain ends the calling goroutine of a process that has crashed if it doesn't see
// that: one that tries again for ever would never come to rest.
func (p *process) remain() {
	const enough = 10_000
	if p.remains.Add(1) > enough {
		runtime.Goexit()
	}
}

// exit ends the goroutine of a workload whose process has crashed.
func (p *process) exit() {
	if p.dead.Load() {
		runtime.Goexit()
	}
}
