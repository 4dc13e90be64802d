package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// resource is what the locks protect: a register for each key, on a separate server that
// never fails. It executes requests in the order of arrival. With a guard it refuses tokens
// below the largest that it has seen.
type resource struct {
	w         *world
	guard     *fencing.Memory
	registers map[string]*register
}

// register is one value.
type register struct {
	value   int64
	version uint64 // counts its writes
	done    map[*holding]done
}

// done is the last executed write of a lease.
type done struct {
	number uint64
	answer accessReply
}

// ErrOutOfOrder is the error of a resource that numbers writes, for a write that arrives
// after a later write of the same lease.
var ErrOutOfOrder = errors.New("simulation: a later write under this lease has been executed")

func newResource(w *world) *resource {
	r := &resource{w: w, registers: map[string]*register{}}
	if w.cfg.Guard.Tokens() {
		// In simulated time, from which the tokens come. A Bound without Ahead is valid.
		now := func() time.Time { return time.Unix(0, kernel.Epoch+w.Now.Load()) }
		r.guard, _ = fencing.NewMemory(fencing.MemoryConfig{Bound: fencing.Bound{Now: now}})
	}
	return r
}

// apply executes a request. It never blocks, because only the driver calls the guard.
func (r *resource) apply(c *call) accessReply {
	a, w := *c.access, r.w
	reg := r.registers[a.holding.key]
	if reg == nil {
		reg = &register{}
		r.registers[a.holding.key] = reg
	}
	used := func(words string) *record.Event {
		e := w.message(a.kind, c)
		e.Goroutine, e.Key, e.Token, e.Lease, e.Words = a.goroutine, a.holding.key, a.token, a.holding.number, words
		return e
	}
	if last := reg.done[a.holding]; a.kind == record.Write && a.number <= last.number {
		if a.number == last.number {
			used("repeated")
			return last.answer
		}
		used("refused")
		return accessReply{err: ErrOutOfOrder}
	}
	if err := r.pass(a); err != nil {
		used("refused")
		return accessReply{err: err}
	}
	if a.kind == record.Write {
		reg.value = a.value
		reg.version++
	}
	did := used("")
	did.Version, did.AsOf, did.Value = reg.version, a.version, reg.value
	answer := accessReply{value: reg.value, version: reg.version}
	if a.kind == record.Write && w.cfg.Guard.numbers() {
		if reg.done == nil {
			reg.done = map[*holding]done{}
		}
		reg.done[a.holding] = done{number: a.number, answer: answer}
	}
	return answer
}

func (r *resource) pass(a access) error {
	ctx := context.Background()
	switch {
	case r.guard == nil:
		return nil
	case a.kind == record.Read && r.w.cfg.Guard == GuardWrites:
		return nil
	case a.kind == record.Read:
		return r.guard.Admit(ctx, a.holding.key, a.token)
	default:
		return r.guard.Check(ctx, a.holding.key, a.token) // in one step with the write
	}
}
