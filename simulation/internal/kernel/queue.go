package kernel

import (
	"cmp"
	"slices"
)

// Event is what happens at a moment of true time. Its functions run on the driver's goroutine.
type Event struct {
	At    int64
	first int64 // when it was due before a pause deferred it; the order of deferred events
	tie   uint64
	n     uint64 // order of entry, the last resort
	// pausedUntil is that of the process that it reaches, whose pause defers it; nil: there is none.
	pausedUntil *int64

	// over reports whether it has no effect any more: then it is dropped, and time doesn't advance
	// to it. nil: it always has one.
	over func() bool
	Do   func()
	// Missed, if it isn't nil, is called when an event is dropped.
	Missed func(at int64)
}

// after orders events. Those of one moment have a seeded order. Equal times are normal, because all servers
// have the same timeout, and code must not rely on any order.
func (e *Event) after(o *Event) int {
	return cmp.Or(cmp.Compare(o.At, e.At), cmp.Compare(o.first, e.first), cmp.Compare(o.tie, e.tie), cmp.Compare(o.n, e.n))
}

// enter enters an event in the queue, whose last event is the next one.
func (k *Kernel) enter(e *Event) {
	i, _ := slices.BinarySearchFunc(k.queue, e, (*Event).after)
	k.queue = slices.Insert(k.queue, i, e)
}
