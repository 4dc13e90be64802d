// Package wheel keeps entries by when they are due.
package wheel

import (
	"math"
	"time"
)

// Wheel has entries, each in the list of the tick in which it is due (G. Varghese, T. Lauck,
// "Hashed and Hierarchical Timing Wheels", SOSP 1987). So it takes no longer with many entries than
// with few. It isn't safe for concurrent use, and its times are by one monotonic clock. The zero
// Wheel is empty.
type Wheel[T any] struct {
	lists [ticks][]*Entry[T]
	n     int
	tick  int64 // the first one whose entries may be due
}

// Entry is a value in at most one Wheel.
type Entry[T any] struct {
	Value T

	due   time.Duration
	index int32 // in its list
	in    bool
}

const (
	ticks = 1024
	tick  = 10 * time.Millisecond

	// horizon is how far ahead an entry can be due.
	horizon = (ticks - 1) * tick

	// Never is when nothing is due.
	Never = time.Duration(math.MaxInt64)
)

// In reports whether the entry is in a Wheel.
func (e *Entry[T]) In() bool { return e.in }

// Due is when the entry is due.
func (e *Entry[T]) Due() time.Duration { return e.due }

// Add adds an entry. If it would be due later than horizon from now on, it is due then.
func (w *Wheel[T]) Add(e *Entry[T], due, now time.Duration) {
	if w.n == 0 {
		w.tick = tickOf(now)
	}
	// Not in a tick that Take has left behind.
	e.due = max(min(due, now+horizon), time.Duration(w.tick)*tick)
	list := w.list(tickOf(e.due))
	e.index, e.in = int32(len(*list)), true
	*list = append(*list, e)
	w.n++
}

// Remove removes an entry, which must be in this Wheel.
func (w *Wheel[T]) Remove(e *Entry[T]) {
	list := w.list(tickOf(e.due))
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[e.index], moved.index = moved, e.index
	(*list)[last], *list = nil, (*list)[:last]
	e.in = false
	w.n--
}

// Take removes the entries that are due, and returns their values.
func (w *Wheel[T]) Take(now time.Duration) (due []T) {
	last := tickOf(now)
	for range ticks {
		for list, i := w.list(w.tick), 0; i < len(*list); {
			if e := (*list)[i]; e.due <= now {
				w.Remove(e)
				due = append(due, e.Value)
			} else {
				i++
			}
		}
		if w.tick >= last {
			return due
		}
		w.tick++
	}
	w.tick = last
	return due
}

// Next is when the next entry is due, or Never. If that is more than a turn of the Wheel ahead,
// because entries were added long after the last Take, it is the end of the turn.
func (w *Wheel[T]) Next() time.Duration {
	if w.n == 0 {
		return Never
	}
	end := w.tick + ticks
	for t := w.tick; t < end; t++ {
		first := Never
		for _, e := range *w.list(t) {
			if tickOf(e.due) == t {
				first = min(first, e.due)
			}
		}
		if first < Never {
			return first
		}
	}
	return time.Duration(end) * tick
}

// Clear removes all entries, and returns their values.
func (w *Wheel[T]) Clear() (all []T) {
	for i := range w.lists {
		for _, e := range w.lists[i] {
			e.in = false
			all = append(all, e.Value)
		}
		w.lists[i] = nil
	}
	w.n = 0
	return all
}

func tickOf(t time.Duration) int64 { return int64(t / tick) }

func (w *Wheel[T]) list(tick int64) *[]*Entry[T] { return &w.lists[uint64(tick)%ticks] }
