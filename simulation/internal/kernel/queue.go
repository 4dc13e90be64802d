package kernel

// Happening is the effect of an event. It runs on the driver's goroutine.
type Happening interface {
	// Live reports whether there still is an effect. If not, the event is dropped and time
	// doesn't advance to it.
	Live() bool
	Happen()
}

// moment is a Happening made of functions.
type moment struct {
	over func() bool
	do   func()
}

// MomentOf makes a Happening of functions. over says whether it has no effect any more; nil: it
// always has one.
func MomentOf(over func() bool, do func()) Happening { return moment{over, do} }

func (m moment) Live() bool { return m.over == nil || !m.over() }

func (m moment) Happen() { m.do() }

// event is one entry of the queue.
type event struct {
	At    int64 // true time
	first int64 // when it was due before a pause deferred it; the order of deferred events
	tie   uint64
	n     uint64 // order of entry, the last resort
	// pausedUntil is that of the process that it reaches, whose pause defers it; nil: there is none.
	pausedUntil *int64
	What        Happening
}

// queue is the events, as container/heap wants them. Events of one moment have a seeded order. Equal
// times are normal, because all servers have the same timeout, and code must not rely on any order.
type queue []*event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	switch e, o := q[i], q[j]; {
	case e.At != o.At:
		return e.At < o.At
	case e.first != o.first:
		return e.first < o.first
	case e.tie != o.tie:
		return e.tie < o.tie
	default:
		return e.n < o.n
	}
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(e any) { *q = append(*q, e.(*event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	return e
}
