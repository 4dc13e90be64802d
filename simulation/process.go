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

// process is one client process: its clock, its connections, its Coordinator, and what its
// goroutines have and wait for.
type process struct {
	kernel.Process
	w           *world
	incarnation int // counts its incarnations from 0
	asleepUntil int64

	links         []link // the resource's, and one for each server
	calls         map[*call]struct{}
	subscriptions map[string]*subscription // by address: those that are open, or to be opened
	holdings      []*holding               // in the order in which they were acquired

	goroutines int            // that Client.Go has started
	workers    sync.WaitGroup // for them

	coordinator atomic.Pointer[quorum.Coordinator]
	ctx         context.Context
	cut         context.CancelCauseFunc // ends ctx when the process crashes
}

// link is a process's connection to a server, or to the resource.
type link struct {
	incarnation uint64 // of the server at the other end, 0 without a connection
	seq         uint64 // calls sent
	wrote       int    // the length of the server's log after the connection's last change
}

// toResource is the resource's index among the places that a process has a link to.
const toResource = -1

// newProcess makes a process that starts now. With a former one, it is the next incarnation.
func newProcess(w *world, index int, name string, former *process) *process {
	p := &process{w: w, links: make([]link, len(w.servers)+1), calls: map[*call]struct{}{}, subscriptions: map[string]*subscription{}}
	var machine *kernel.Process
	if former != nil {
		machine, p.incarnation = &former.Process, former.incarnation+1
		for i := range p.links {
			p.links[i].seq = former.links[i].seq // draws for calls depend on their numbers
		}
	}
	p.Init(&w.Kernel, index, name, machine)
	p.ctx, p.cut = context.WithCancelCause(context.Background())
	return p
}

// link is the process's connection to a place.
func (p *process) link(place int) *link { return &p.links[place-toResource] }

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
}

// suspend pauses the process together with its clocks.
func (p *process) suspend(until int64, frozen bool) {
	p.pause(until)
	p.asleepUntil = max(p.asleepUntil, until)
	p.Suspend(frozen)
	p.believes()
	p.w.Ahead(p.asleepUntil, p.Gone, func() {
		if p.w.Now.Load() >= p.asleepUntil {
			p.Wake()
			p.believes()
			p.Reset()
		}
	})
}

// crash ends the process. What it has sent stays on its way.
func (p *process) crash() {
	if p.Gone() {
		return
	}
	p.w.event(record.Crashed, p.Name, "")
	for _, h := range p.holdings {
		h.end()
	}
	p.Die()
	// First, because waiters of the closed Coordinator must not begin another round.
	if c := p.coordinator.Load(); c != nil {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(over) // the error says that goroutines remain, and they do
	}
	p.cut(ErrCrashed)
	for c := range p.calls {
		c.abandon()
	}
	clear(p.calls)
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
	p.Post(kernel.OpOrder{Kind: kernel.IsReport, Key: string(kind), Value: text}, func() { p.w.violation(kind, "%s", text) })
}
