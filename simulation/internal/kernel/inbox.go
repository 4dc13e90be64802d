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
	IsLetter
	IsMailbox
)

func (o OpOrder) compare(p OpOrder) int {
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

// Post gives an operation to the driver.
func (p *Process) Post(o Op) {
	k := p.kernel
	k.inboxMu.Lock()
	k.inbox = append(k.inbox, o)
	k.inboxMu.Unlock()
}

// carryOut executes the operations of one step.
func (k *Kernel) carryOut(ops []Op) {
	if len(ops) > 1 {
		slices.SortStableFunc(ops, func(a, b Op) int { return a.Order().compare(b.Order()) })
		ops = join(ops)
	}
	for _, o := range ops {
		o.Apply()
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
