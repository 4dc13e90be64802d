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
	n     uint64   // order of entry, the last resort
	proc  *Process // that it reaches, and whose pause defers it; nil: none
	What  Happening
}

// before is the order of the queue. Events of one moment have a seeded order. Equal times are
// normal, because all servers have the same timeout, and code must not rely on any order.
func (e *event) before(o *event) bool {
	switch {
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

// queue is a binary heap of events.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, event{})
	h := *q
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

func (q *queue) pop() event {
	h := *q
	top, last := h[0], len(h)-1
	e := h[last]
	h[last] = event{}
	h = h[:last]
	*q = h
	if last == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if next := child + 1; next < last && h[next].before(&h[child]) {
			child = next
		}
		if !h[child].before(&e) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = e
	return top
}

// Push enters an event at the true time at, or at once if that has passed.
func (k *Kernel) Push(at int64, tie uint64, p *Process, what Happening) {
	k.PushFrom(at, at, tie, p, what)
}

// PushFrom enters an event that was deferred from an earlier moment.
func (k *Kernel) PushFrom(at, first int64, tie uint64, p *Process, what Happening) {
	if at == Never {
		return
	}
	now := k.Now.Load()
	k.n++
	k.queue.push(event{At: max(at, now), first: max(first, now), tie: tie, n: k.n, proc: p, What: what})
}

// Ahead enters an event that comes before all others of its moment.
func (k *Kernel) Ahead(at int64, what Happening) {
	k.n++
	k.queue.push(event{At: max(at, k.Now.Load()), first: -1, n: k.n, What: what})
}

// Schedule is ahead for an event that always has an effect.
func (k *Kernel) Schedule(at int64, do func()) { k.Ahead(at, moment{do: do}) }
