package kernel

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

// queue is the events, as container/heap wants them. Events of one moment have a seeded order. Equal
// times are normal, because all servers have the same timeout, and code must not rely on any order.
type queue []*Event

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

func (q *queue) Push(e any) { *q = append(*q, e.(*Event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	return e
}
