package simulation

import (
	"cmp"
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

// notice is an operation without a type of its own.
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
