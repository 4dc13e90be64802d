package quorum

import (
	"math"
	"time"
)

// wheel has leases, each in the list of the tick in which it is due (G. Varghese, T. Lauck,
// "Hashed and Hierarchical Timing Wheels", SOSP 1987). So it takes no longer with many leases than
// with few. Its times are by one monotonic clock. The zero wheel is empty. The keeper's lock guards it.
type wheel struct {
	lists [ticks][]*Lease
	n     int
	tick  int64 // the first one whose leases may be due
}

// spoke is where a lease is in the wheel.
type spoke struct {
	due   time.Duration
	index int32 // in its list
	in    bool
}

const (
	ticks = 1024
	tick  = 10 * time.Millisecond

	// horizon is how far ahead a lease can be due.
	horizon = (ticks - 1) * tick

	// never is when nothing is due.
	never = time.Duration(math.MaxInt64)
)

// add adds a lease. If it would be due later than horizon from now on, it is due then.
func (w *wheel) add(l *Lease, due, now time.Duration) {
	if w.n == 0 {
		w.tick = tickOf(now)
	}
	s := &l.kept.spoke
	// Not in a tick that take has left behind.
	s.due = max(min(due, now+horizon), time.Duration(w.tick)*tick)
	list := w.list(tickOf(s.due))
	s.index, s.in = int32(len(*list)), true
	*list = append(*list, l)
	w.n++
}

// remove removes a lease, which must be in the wheel.
func (w *wheel) remove(l *Lease) {
	s := &l.kept.spoke
	list := w.list(tickOf(s.due))
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[s.index], moved.kept.index = moved, s.index
	(*list)[last], *list = nil, (*list)[:last]
	s.in = false
	w.n--
}

// take removes the leases that are due, and returns them.
func (w *wheel) take(now time.Duration) (due []*Lease) {
	last := tickOf(now)
	for range ticks {
		for list, i := w.list(w.tick), 0; i < len(*list); {
			if l := (*list)[i]; l.kept.due <= now {
				w.remove(l)
				due = append(due, l)
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

// next is when the next lease is due, or never. If that is more than a turn of the wheel ahead,
// because leases were added long after the last take, it is the end of the turn.
func (w *wheel) next() time.Duration {
	if w.n == 0 {
		return never
	}
	end := w.tick + ticks
	for t := w.tick; t < end; t++ {
		first := never
		for _, l := range *w.list(t) {
			if tickOf(l.kept.due) == t {
				first = min(first, l.kept.due)
			}
		}
		if first < never {
			return first
		}
	}
	return time.Duration(end) * tick
}

// clear removes all leases, and returns them.
func (w *wheel) clear() (all []*Lease) {
	for i := range w.lists {
		for _, l := range w.lists[i] {
			l.kept.in = false
			all = append(all, l)
		}
		w.lists[i] = nil
	}
	w.n = 0
	return all
}

func tickOf(t time.Duration) int64 { return int64(t / tick) }

func (w *wheel) list(tick int64) *[]*Lease { return &w.lists[uint64(tick)%ticks] }
