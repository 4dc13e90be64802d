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
	version uint64              // counts its writes
	done    map[*holding]access // the last executed write of each lease
}

// access is a request to the resource, and its reply.
type access struct {
	kind    record.EventKind // Read or Write
	holding *holding
	token   fencing.Token // that is shown
	number  uint64        // of a write among those of its lease

	value   int64 // to be written, and that was found
	version uint64
	err     error
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

// execute executes a request and logs it as an event. It never blocks, because only the driver
// calls the guard.
func (r *resource) execute(a access, e *record.Event) access {
	h := a.holding
	reg := r.registers[h.key]
	if reg == nil {
		reg = &register{done: map[*holding]access{}}
		r.registers[h.key] = reg
	}
	e.Goroutine, e.Key, e.Token, e.Lease = h.goroutine, h.key, a.token, h.number
	last := reg.done[h]
	switch write := a.kind == record.Write; {
	case write && a.number == last.number:
		e.Words = "repeated"
		r.w.count("the resource recognised a repeated write")
		return last
	case write && a.number < last.number:
		a.err = ErrOutOfOrder
	default:
		a.err = r.pass(a)
	}
	if a.err != nil {
		e.Words = "refused"
		r.w.count("the guard refused a " + a.kind.String())
		return access{err: a.err}
	}
	e.AsOf = a.version
	if a.kind == record.Write {
		reg.value = a.value
		reg.version++
		if h.ended() || r.w.Now.Load() >= h.until() {
			r.w.count("a write was carried out after its lease")
		}
	}
	a.value, a.version = reg.value, reg.version
	e.Value, e.Version = a.value, a.version
	if a.kind == record.Write && r.w.cfg.Guard.numbers() {
		reg.done[h] = a
	}
	return a
}

// pass asks the guard.
func (r *resource) pass(a access) error {
	ctx := context.Background()
	switch {
	case r.guard == nil, a.kind == record.Read && r.w.cfg.Guard == GuardWrites:
		return nil
	case a.kind == record.Read:
		return r.guard.Admit(ctx, a.holding.key, a.token)
	default:
		return r.guard.Check(ctx, a.holding.key, a.token) // in one step with the write
	}
}
