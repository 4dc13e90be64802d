// Package kernel is the clockwork of a run: true time, the queue of events, the inbox of what the code
// under test asks for, the order in which all that happens, and the processes with their clocks. It knows
// no server, no message and no lock.
package kernel

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
)

// Kernel is the clockwork of a run: true time, the queue of events, and the inbox of what the
// code under test asks for. A single goroutine, the driver, owns everything in it. The goroutines
// of the code under test are blocked while it works, and it waits (in Settle) while they
// run. They communicate with it only through the inbox.
type Kernel struct {
	Seed uint64

	Now   atomic.Int64 // true time in nanoseconds from the start; only the driver writes it
	queue []*Event
	n     uint64 // events entered
	steps uint64 // how often the inbox was carried out

	// resting is set while the driver waits and the code under test runs. At other times
	// the driver itself may run code under test: a receiver of votes.
	resting atomic.Bool
	Awake   bool // a goroutine of the code under test was woken since the last settle

	inboxMu sync.Mutex
	inbox   []op
}

// Settle waits until all goroutines of the code under test are blocked and executes their
// requests, until there are no more.
func (k *Kernel) Settle() {
	for {
		if k.Awake {
			k.Awake = false
			k.resting.Store(true)
			synctest.Wait()
			k.resting.Store(false)
		}
		k.inboxMu.Lock()
		ops := k.inbox
		k.inbox = nil
		k.inboxMu.Unlock()
		if len(ops) == 0 && !k.Awake {
			return
		}
		k.steps++
		slices.SortStableFunc(ops, func(a, b op) int { return a.order.compare(b.order) })
		for _, o := range ops {
			o.do()
		}
	}
}

// post gives an operation to the driver.
func (k *Kernel) post(o op) {
	k.inboxMu.Lock()
	k.inbox = append(k.inbox, o)
	k.inboxMu.Unlock()
}

// Push enters an event at the true time at, or at once if that has passed.
func (k *Kernel) Push(at int64, tie uint64, over func() bool, do func()) {
	k.push(&Event{At: at, first: at, tie: tie, over: over, Do: do})
}

// Ahead enters an event that comes before all others of its moment.
func (k *Kernel) Ahead(at int64, over func() bool, do func()) {
	k.push(&Event{At: at, first: -1, over: over, Do: do})
}

func (k *Kernel) push(e *Event) {
	if e.At == Never {
		return
	}
	now := k.Now.Load()
	k.n++
	e.At, e.n = max(e.At, now), k.n
	if e.first >= 0 {
		e.first = max(e.first, now)
	}
	k.enter(e)
}

// Next removes the next event that has an effect from the queue. Events of a paused process are
// deferred until it runs again.
func (k *Kernel) Next() (e *Event, ok bool) {
	for len(k.queue) > 0 {
		last := len(k.queue) - 1
		e := k.queue[last]
		k.queue[last], k.queue = nil, k.queue[:last]
		switch {
		case e.over != nil && e.over():
			if e.Missed != nil {
				e.Missed(e.At)
			}
		case e.pausedUntil != nil && *e.pausedUntil > e.At:
			e.At = *e.pausedUntil
			k.enter(e)
		default:
			return e, true
		}
	}
	return nil, false
}
