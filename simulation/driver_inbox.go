package simulation

import (
	"cmp"
	"slices"
	"strings"
)

// op is a request of the code under test to the driver.
type op interface {
	// order sorts the operations of one step. Goroutines post them in any order, and
	// the result must not depend on that.
	order() opOrder
	// apply executes it, on the driver's goroutine.
	apply(w *world)
}

// opOrder sorts operations. Operations with the same order are indistinguishable.
type opOrder struct {
	process, kind, place, op int
	n                        uint64
	key, value               string
}

// The kinds, in their order within a process.
const (
	isRecord = iota
	isGain
	isCall
	isCancel
	isTimer
	isReport
	isUnsubscribe
	isSpawn
	isTurn
	isEnd
	isStop
	isLetter
	isMailbox
)

func (o *opOrder) compare(p *opOrder) int {
	switch {
	case o.process != p.process:
		return o.process - p.process
	case o.kind != p.kind:
		return o.kind - p.kind
	case o.place != p.place:
		return o.place - p.place
	case o.op != p.op:
		return o.op - p.op
	}
	return cmp.Or(cmp.Compare(o.n, p.n), strings.Compare(o.key, p.key), strings.Compare(o.value, p.value))
}

// notice is an operation made of a function.
type notice struct {
	p  *process // a notice of a process that has ended has no effect; nil: it always has one
	at opOrder
	do func()
}

func (n *notice) order() opOrder { return n.at }

func (n *notice) apply(*world) {
	if n.p == nil || !n.p.gone() {
		n.do()
	}
}

// tell posts a notice of the process.
func (p *process) tell(order opOrder, do func()) {
	order.process = p.index
	p.post(&notice{p: p, at: order, do: do})
}

// post gives an operation to the driver.
func (w *world) post(o op) {
	w.inboxMu.Lock()
	w.inbox = append(w.inbox, o)
	w.inboxMu.Unlock()
}

// carryOut executes the operations of one step.
func (w *world) carryOut(ops []op) {
	if len(ops) > 1 {
		w.sort(ops)
		ops = join(ops)
	}
	for _, o := range ops {
		o.apply(w)
	}
}

// sort sorts operations by their order. There are rarely more than a dozen.
func (w *world) sort(ops []op) {
	orders := w.orders[:0]
	for _, o := range ops {
		orders = append(orders, o.order())
	}
	w.orders = orders
	for i := 1; i < len(ops); i++ {
		o, order := ops[i], orders[i]
		j := i
		for ; j > 0 && order.compare(&orders[j-1]) < 0; j-- {
			ops[j], orders[j] = ops[j-1], orders[j-1]
		}
		ops[j], orders[j] = o, order
	}
}

// join joins indistinguishable operations to the one before them, if they can be joined.
func join(ops []op) []op {
	kept := ops[:0]
	for _, o := range ops {
		if len(kept) > 0 {
			if t, ok := kept[len(kept)-1].(interface{ join(o op) bool }); ok && t.join(o) {
				continue
			}
		}
		kept = append(kept, o)
	}
	return kept
}

// late is an operation of a process that runs ahead.
type late struct {
	op
	p     *process
	until int64
}

// putOff removes the operations of processes that run ahead. They are executed together at
// the end of the pause.
func (w *world) putOff(ops []op) []op {
	if w.readings == nil {
		return ops
	}
	var later []*lateOps
	kept := ops[:0]
	for _, o := range ops {
		l, ok := o.(*late)
		if !ok || l.p.gone() {
			if ok {
				o = l.op
			}
			kept = append(kept, o)
			continue
		}
		at := slices.IndexFunc(later, func(b *lateOps) bool { return b.p == l.p && b.until == l.until })
		if at < 0 {
			at = len(later)
			later = append(later, &lateOps{p: l.p, until: l.until})
		}
		later[at].ops = append(later[at].ops, l.op)
	}
	slices.SortFunc(later, func(a, b *lateOps) int { return cmp.Or(cmp.Compare(a.until, b.until), a.p.index-b.p.index) })
	for _, b := range later {
		b.p.late = append(b.p.late, b)
		w.ahead(b.until, b)
	}
	return kept
}

// lateOps is operations at the moment to which they were put off.
type lateOps struct {
	p     *process
	until int64
	ops   []op
}

func (l *lateOps) live() bool { return len(l.ops) > 0 }

func (l *lateOps) happen(w *world) {
	if l.p.pausedUntil > w.now.Load() { // it was stopped again
		w.ahead(l.p.pausedUntil, l)
		return
	}
	l.p.late = slices.DeleteFunc(l.p.late, func(o *lateOps) bool { return o == l })
	l.carryOut(w)
}

func (l *lateOps) carryOut(w *world) {
	ops := l.ops
	l.ops = nil
	w.carryOut(ops)
}
