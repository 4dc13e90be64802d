// Package kernel is the clockwork of a run: true time, the queue of events, the inbox of what the code
// under test asks for, the order in which all that happens, and the clocks of processes. It knows no
// server, no message and no lock.
package kernel

import (
	"sync"
	"sync/atomic"
	"testing/synctest"
)

// Kernel is the clockwork of a run: true time, the queue of events, and the inbox of what the
// code under test asks for. A single goroutine, the driver, owns everything in it. The goroutines
// of the code under test are blocked while it works, and it waits (in Settle) while they
// run. They communicate with it only through Post.
type Kernel struct {
	Seed uint64

	Now    atomic.Int64 // true time in nanoseconds from the start; only the driver writes it
	queue  queue
	n      uint64 // events entered
	Timers int    // plain timers among those that happened

	// resting is set while the driver waits and the code under test runs. At other times
	// the driver itself may run code under test: a receiver of votes.
	resting atomic.Bool
	Awake   bool // a goroutine of the code under test was woken since the last settle

	inboxMu sync.Mutex
	inbox   []Op
	drained []Op // the inbox before, for its memory
}

// Init prepares a run.
func (k *Kernel) Init(seed uint64) {
	k.Seed, k.Awake = seed, true
	k.queue, k.inbox, k.drained = make(queue, 0, 64), make([]Op, 0, 32), make([]Op, 0, 32)
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
		k.inbox, k.drained = k.drained[:0], ops
		k.inboxMu.Unlock()
		if len(ops) == 0 && !k.Awake {
			return
		}
		k.carryOut(ops)
		clear(k.drained)
	}
}

// Next removes the next live event from the queue. Events of a paused process are deferred
// until it runs again.
func (k *Kernel) Next() (e event, ok bool) {
	for len(k.queue) > 0 {
		e := k.queue.pop()
		if !e.What.Live() {
			if m, ok := e.What.(interface{ Missed(at int64) }); ok {
				m.Missed(e.At)
			}
			continue
		}
		if p := e.proc; p != nil && p.PausedUntil > e.At {
			e.At = p.PausedUntil
			k.queue.push(e)
			continue
		}
		return e, true
	}
	return event{}, false
}
