package simulation

// happening is the effect of an event. It runs on the driver's goroutine.
type happening interface {
	// live reports whether there still is an effect. If not, the event is dropped and time
	// doesn't advance to it.
	live() bool
	happen(w *world)
}

// moment is a happening made of functions.
type moment struct {
	over func() bool // whether it has no effect any more; nil: it always has one
	do   func()
}

func (m moment) live() bool { return m.over == nil || !m.over() }

func (m moment) happen(*world) { m.do() }

// event is one entry of the queue.
type event struct {
	at    int64 // true time
	first int64 // when it was due before a pause deferred it; the order of deferred events
	tie   uint64
	n     uint64   // order of entry, the last resort
	proc  *process // that it reaches, and whose pause defers it; nil: none
	what  happening

	message bool // on its way
	fault   bool // of the Schedule, at a moment that is chosen, see Order
	id      uint64
	made    int // the step that caused it, see Order
}

// before is the order of the queue. Events of one moment have a seeded order. Equal times are
// normal, because all servers have the same timeout, and code must not rely on any order.
func (e *event) before(o *event) bool {
	switch {
	case e.at != o.at:
		return e.at < o.at
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

// push enters an event at the true time at, or at once if that has passed.
func (w *world) push(at int64, tie uint64, p *process, what happening) {
	w.pushFrom(at, at, tie, p, what)
}

// pushFrom enters an event that was deferred from an earlier moment.
func (w *world) pushFrom(at, first int64, tie uint64, p *process, what happening) {
	if at == never {
		return
	}
	w.enter(event{at: at, first: first, tie: tie, proc: p, what: what})
}

// carry enters the arrival of a message.
func (w *world) carry(at int64, tie uint64, p *process, what happening) {
	w.enter(event{at: at, first: at, tie: tie, proc: p, what: what, message: true})
}

func (w *world) enter(e event) {
	now := w.now.Load()
	w.n++
	e.at, e.first, e.n, e.id, e.made = max(e.at, now), max(e.first, now), w.n, w.name(e.tie), w.step()
	w.queue.push(e)
}

// ahead enters an event that comes before all others of its moment.
func (w *world) ahead(at int64, what happening) {
	w.n++
	w.queue.push(event{at: max(at, w.now.Load()), first: -1, n: w.n, what: what, id: w.name(uint64(at)), made: w.step()})
}

// schedule is ahead for an event that always has an effect.
func (w *world) schedule(at int64, do func()) { w.ahead(at, moment{do: do}) }
