package simulation

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// process is one client process: its clock, its connections, its Coordinator, and
// the goroutine that runs the workload.
type process struct {
	kernel.Process
	w     *world
	links []link // one for each server, and the resource's last
	calls map[*call]struct{}

	incarnation int      // counts its incarnations from 0
	letters     []string // that have arrived
	asleepUntil int64

	subscriptions map[string]*subscription // by address: those that are open, or to be opened

	several    atomic.Bool    // more than one goroutine runs its workload
	goroutines int            // that Client.Go has started
	workers    sync.WaitGroup // for them
	turns      []*turn        // of goroutines that wait for them

	coordinator atomic.Pointer[quorum.Coordinator]
	ctx         context.Context
	cut         context.CancelCauseFunc // ends ctx when the process crashes; may be nil
}

func newProcess(w *world, index int, name string) *process {
	p := &process{w: w, links: make([]link, len(w.servers)+1), calls: map[*call]struct{}{}}
	p.Init(&w.Kernel, index, name, func(method string) {
		p.report(record.Unsimulated, fmt.Sprintf("%s calls Clock.%s, which can't be simulated; use After or WithTimeout", name, method))
	})
	// A crash closes the Coordinator, and a context that never ends is cheaper for it.
	p.ctx = context.Background()
	if w.cfg.Locker != nil {
		p.ctx, p.cut = context.WithCancelCause(p.ctx)
	}
	return p
}

// end is the process's last operation.
func (p *process) end() {
	p.Tell(kernel.OpOrder{Kind: kernel.IsEnd}, func() {
		p.Ended = true
		p.w.event(record.Ended, p.Name, "")
	})
}

// pause stops the process until a moment.
func (p *process) pause(until int64) {
	p.PausedUntil = max(p.PausedUntil, until)
	p.w.count(processPaused)
}

// suspend pauses the process together with its clocks.
func (p *process) suspend(until int64, frozen bool) {
	p.pause(until)
	p.asleepUntil = max(p.asleepUntil, until)
	p.Clock.Suspend(p.w.Now.Load(), frozen)
	p.w.believes(p)
	p.w.Ahead(p.asleepUntil, kernel.MomentOf(p.Gone, func() {
		if now := p.w.Now.Load(); now >= p.asleepUntil {
			p.Clock.Wake(now)
			p.w.believes(p)
			p.Reset()
		}
	}))
}

// crash ends the process. What it has sent stays on its way.
func (p *process) crash() {
	if p.Gone() {
		return
	}
	w := p.w
	w.event(record.Crashed, p.Name, "")
	w.crashed(p)
	p.Die()
	// First, because waiters of the closed Coordinator must not begin another round.
	if c := p.coordinator.Load(); c != nil {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(over) // the error says that goroutines remain, and they do
	}
	if p.cut != nil {
		p.cut(ErrCrashed)
	}
	for c := range p.calls {
		c.abandon()
	}
	clear(p.calls)
	for _, t := range p.turns {
		close(t.come)
	}
	p.turns = nil
	for _, e := range p.subscriptions {
		e.over = true
		e.end(ErrCrashed)
		e.unsubscribe() // its machine closes the connection
	}
	p.DropTimers()
}

// recovered reports a panic of the workload. Defer it.
func (p *process) recovered() {
	if fault := recover(); fault != nil {
		p.panicked(fmt.Sprintf("%v\n%s", fault, debug.Stack()))
	}
}

func (p *process) panicked(text string) { p.report(record.Panicked, p.Name+": "+text) }

// report reports a violation that the code under test, or the code around it, has noticed.
func (p *process) report(kind record.ViolationKind, text string) {
	p.Always(kernel.OpOrder{Kind: kernel.IsReport, Key: string(kind), Value: text}, func() { p.w.violation(kind, "%s", text) })
}
