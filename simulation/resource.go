package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// resource is what the locks protect: a register for each key, on a server of its
// own that never fails. It carries out what arrives, in the order of arrival; with
// a guard it refuses tokens below the largest it has seen.
type resource struct {
	w         *world
	guard     *fencing.Memory
	registers map[string]*register
}

// register is one value.
type register struct {
	value   int64
	version uint64   // counts its writes
	latest  *holding // the latest of those whose operations took effect
	writer  *holding // whose write the last one was
	overdue bool     // that write took effect too late: assumption 1 was broken
	done    map[*holding]done
}

// done is the last write of a lease that was carried out.
type done struct {
	number uint64
	answer acted
}

// ErrOutOfOrder is the answer of a resource that knows writes by their numbers to one
// that arrives after a later one of the same lease.
var ErrOutOfOrder = errors.New("simulation: a later write under this lease was carried out before")

// act is a request to the resource.
type act struct {
	kind    EventKind // Read or Write
	holding *holding
	token   fencing.Token // that is shown
	value   int64
	version uint64
	number  uint64 // of a write among those of its lease
	sent    int64  // true time

	goroutine int // of the process, that asks
}

// acted is its answer.
type acted struct {
	value   int64
	version uint64
	err     error
}

func newResource(w *world) *resource {
	r := &resource{w: w, registers: map[string]*register{}}
	if w.cfg.Guard.Tokens() {
		// By the simulated time, in which the tokens are. A Bound without Ahead
		// cannot be refused.
		now := func() time.Time { return time.Unix(0, epoch+w.now.Load()) }
		r.guard, _ = fencing.NewMemory(fencing.MemoryConfig{Bound: fencing.Bound{Now: now}})
	}
	return r
}

// apply carries out what has arrived. It never blocks: the driver is the only one
// to call the guard.
func (r *resource) apply(c *call) acted {
	a, w := *c.act, r.w
	reg := r.registers[a.holding.key]
	if reg == nil {
		reg = &register{}
		r.registers[a.holding.key] = reg
	}
	used := func(words string) *Event {
		e := w.message(a.kind, c)
		e.Goroutine, e.Key, e.Token, e.Lease, e.Words = a.goroutine, a.holding.key, a.token, a.holding.number, words
		return e
	}
	if last := reg.done[a.holding]; a.kind == Write && a.number <= last.number {
		if a.number == last.number {
			used("repeated")
			return last.answer
		}
		used("refused")
		return acted{err: ErrOutOfOrder}
	}
	if err := r.pass(a); err != nil {
		used("refused")
		return acted{err: err}
	}
	w.check.effect(a, reg)
	if a.kind == Write {
		reg.value = a.value
		reg.version++
	}
	did := used("")
	did.Version, did.AsOf, did.Value = reg.version, a.version, reg.value
	answer := acted{value: reg.value, version: reg.version}
	if a.kind == Write && w.cfg.Guard.numbers() {
		if reg.done == nil {
			reg.done = map[*holding]done{}
		}
		reg.done[a.holding] = done{number: a.number, answer: answer}
	}
	return answer
}

func (r *resource) pass(a act) error {
	ctx := context.Background()
	switch {
	case r.guard == nil:
		return nil
	case a.kind == Read && r.w.cfg.Guard == GuardWrites:
		return nil
	case a.kind == Read:
		return r.guard.Admit(ctx, a.holding.key, a.token)
	default:
		return r.guard.Check(ctx, a.holding.key, a.token) // one step with the write: nothing else runs
	}
}
