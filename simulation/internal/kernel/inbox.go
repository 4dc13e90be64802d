package kernel

import (
	"cmp"
	"slices"
	"strings"
)

// Op is a request of the code under test to the driver.
type Op interface {
	// Order sorts the operations of one step. Goroutines post them in any order, and
	// the result must not depend on that.
	Order() OpOrder
	// Apply executes it, on the driver's goroutine.
	Apply()
}

// OpOrder sorts operations. Operations with the same order are indistinguishable.
type OpOrder struct {
	Process, Kind, Place, Op int
	N                        uint64
	Key, Value               string
}

// The kinds, in their order within a process.
const (
	IsRecord = iota
	IsGain
	IsCall
	IsCancel
	isTimer
	IsReport
	IsUnsubscribe
	IsSpawn
	IsTurn
	IsEnd
	IsStop
	IsLetter
	IsMailbox
)

func (o *OpOrder) compare(p *OpOrder) int {
	switch {
	case o.Process != p.Process:
		return o.Process - p.Process
	case o.Kind != p.Kind:
		return o.Kind - p.Kind
	case o.Place != p.Place:
		return o.Place - p.Place
	case o.Op != p.Op:
		return o.Op - p.Op
	}
	return cmp.Or(cmp.Compare(o.N, p.N), strings.Compare(o.Key, p.Key), strings.Compare(o.Value, p.Value))
}

// notice is an operation made of a function.
type notice struct {
	p  *Process // a notice of a process that has ended has no effect; nil: it always has one
	at OpOrder
	do func()
}

func (n *notice) Order() OpOrder { return n.at }

func (n *notice) Apply() {
	if n.p == nil || !n.p.Gone() {
		n.do()
	}
}

// Tell posts a notice of the process.
func (p *Process) Tell(order OpOrder, do func()) {
	order.Process = p.Index
	p.Post(&notice{p: p, at: order, do: do})
}

// Always posts a notice that has its effect even if the process has ended.
func (p *Process) Always(order OpOrder, do func()) {
	order.Process = p.Index
	p.Post(&notice{at: order, do: do})
}

// post gives an operation to the driver. Processes use Process.Post.
func (k *Kernel) post(o Op) {
	k.inboxMu.Lock()
	k.inbox = append(k.inbox, o)
	k.inboxMu.Unlock()
}

// carryOut executes the operations of one step.
func (k *Kernel) carryOut(ops []Op) {
	if len(ops) > 1 {
		k.sort(ops)
		ops = join(ops)
	}
	for _, o := range ops {
		o.Apply()
	}
}

// sort sorts operations by their order. There are rarely more than a dozen.
func (k *Kernel) sort(ops []Op) {
	orders := k.orders[:0]
	for _, o := range ops {
		orders = append(orders, o.Order())
	}
	k.orders = orders
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
func join(ops []Op) []Op {
	kept := ops[:0]
	for _, o := range ops {
		if len(kept) > 0 {
			if t, ok := kept[len(kept)-1].(interface{ join(o Op) bool }); ok && t.join(o) {
				continue
			}
		}
		kept = append(kept, o)
	}
	return kept
}

// late is an operation of a process that runs ahead.
type late struct {
	Op
	p     *Process
	until int64
}

// putOff removes the operations of processes that run ahead. They are executed together at
// the end of the pause.
func (k *Kernel) putOff(ops []Op) []Op {
	if k.readings == nil {
		return ops
	}
	var later []*lateOps
	kept := ops[:0]
	for _, o := range ops {
		l, ok := o.(*late)
		if !ok || l.p.Gone() {
			if ok {
				o = l.Op
			}
			kept = append(kept, o)
			continue
		}
		at := slices.IndexFunc(later, func(b *lateOps) bool { return b.p == l.p && b.until == l.until })
		if at < 0 {
			at = len(later)
			later = append(later, &lateOps{p: l.p, until: l.until})
		}
		later[at].ops = append(later[at].ops, l.Op)
	}
	slices.SortFunc(later, func(a, b *lateOps) int { return cmp.Or(cmp.Compare(a.until, b.until), a.p.Index-b.p.Index) })
	for _, b := range later {
		b.p.late = append(b.p.late, b)
		k.Ahead(b.until, b)
	}
	return kept
}

// lateOps is operations at the moment to which they were put off.
type lateOps struct {
	p     *Process
	until int64
	ops   []Op
}

func (l *lateOps) Live() bool { return len(l.ops) > 0 }

func (l *lateOps) Happen() {
	k := l.p.kernel
	if l.p.PausedUntil > k.Now.Load() { // it was stopped again
		k.Ahead(l.p.PausedUntil, l)
		return
	}
	l.p.late = slices.DeleteFunc(l.p.late, func(o *lateOps) bool { return o == l })
	l.carryOut()
}

func (l *lateOps) carryOut() {
	ops := l.ops
	l.ops = nil
	l.p.kernel.carryOut(ops)
}
