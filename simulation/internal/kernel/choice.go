package kernel

import (
	"cmp"
	"slices"
)

// Touch records that the current step touches parts of the world.
func (k *Kernel) Touch(parts uint64) {
	if o := k.order; o != nil && len(o.Steps) > 0 {
		o.Steps[len(o.Steps)-1].Touched |= parts
	}
}

// Step is the index of the current step.
func (k *Kernel) Step() int {
	if k.order == nil {
		return -1
	}
	return len(k.order.Steps) - 1
}

// Expand records that the current step keeps other events from Happening.
func (k *Kernel) Expand() { k.order.expand(k.Step()) }

// unsaid is an event that may become impossible. OverSince is the step that made it impossible.
type unsaid interface{ OverSince() int }

// choose removes the chosen event from the queue. Then the queue is no longer in its usual order.
// ended says that the run is to end.
func (k *Kernel) choose() (e event, ok, ended bool) {
	o := k.order
	for !k.orderEnded {
		if n := len(o.Steps); n > 0 && o.Steps[n-1].Touched == 0 {
			o.Steps[n-1].Touched = TouchesEverything // nothing is known about it
		}
		k.queue = slices.DeleteFunc(k.queue, func(e event) bool {
			if e.What.Live() {
				return false
			}
			k.drop(e)
			return true
		})
		due, fault, next := k.due()
		if len(due) == 0 && next == Never {
			return event{}, false, false
		}
		at := 0
		// An event that comes before all others of its moment is no choice.
		forced := len(due) > 0 && k.queue[due[0]].first < 0
		if forced {
			due = due[:1]
		}
		s := OrderStep{Options: make([]Option, 0, len(due)+1)}
		for _, i := range due {
			s.Options = append(s.Options, Option{ID: k.queue[i].id, After: k.queue[i].made, Fault: k.queue[i].fault})
		}
		if !forced && fault && next != Never {
			s.Options = append(s.Options, Option{ID: TimePasses, After: len(o.Steps) - 1})
			s.Expands = len(due) > 0
		}
		if o.Choose != nil {
			if at = o.Choose(s.Options); at < 0 {
				k.orderEnded = true
				break
			}
			at = min(at, len(s.Options)-1)
		}
		s.Chosen = at
		if s.Options[at].ID == TimePasses {
			s.Touched = TouchesEverything
			o.Steps = append(o.Steps, s)
			k.Now.Store(next)
			continue
		}
		e = k.queue[due[at]]
		k.queue = slices.Delete(k.queue, due[at], due[at]+1)
		switch {
		case e.proc != nil:
			s.Touched = OfProcess(e.proc.Index)
		case forced:
			s.Touched = TouchesEverything
		}
		o.Steps = append(o.Steps, s)
		e.At = k.Now.Load()
		return e, true, false
	}
	return event{}, false, true
}

// due lists the events that can be next, in the order in which they were caused. next is the moment
// to which time can pass. waits says that no event is due except for faults, so
// that time can pass.
func (k *Kernel) due() (due []int, waits bool, next int64) {
	now := k.Now.Load()
	next, waits = Never, true
	for i := range k.queue {
		e := &k.queue[i]
		if at := e.dueAt(k); at > now {
			next = min(next, at)
			continue
		}
		due = append(due, i)
		waits = waits && e.fault
	}
	slices.SortFunc(due, func(a, b int) int {
		a1, b1 := &k.queue[a], &k.queue[b]
		return cmp.Or(cmp.Compare(min(a1.first, 0), min(b1.first, 0)), cmp.Compare(a1.n, b1.n))
	})
	return due, waits, next
}

// dueAt is when an event can happen. It is later if messages are stalled or its process is paused.
func (e *event) dueAt(k *Kernel) int64 {
	at := e.At
	if e.message {
		at = max(at, k.StalledUntil)
	}
	if e.proc != nil {
		at = max(at, e.proc.PausedUntil)
	}
	return at
}

// drop handles an event that can no longer happen.
func (k *Kernel) drop(e event) {
	if m, ok := e.What.(interface{ Missed(at int64) }); ok {
		m.Missed(e.At)
	}
	if e.fault {
		k.Touch(TouchesEverything) // the step has ended the last process, and no fault comes after that
		return
	}
	if e.dueAt(k) > k.Now.Load() {
		return
	}
	step := k.Step()
	if u, ok := e.What.(unsaid); ok {
		step = min(step, u.OverSince())
	}
	k.order.expand(step)
}

// name names an event for Option.ID. Events with the same tie are caused by the same process, so their
// numbers don't depend on the order of independent events.
func (k *Kernel) name(tie uint64) uint64 {
	if k.order == nil {
		return 0
	}
	if k.named == nil {
		k.named = map[uint64]uint64{}
	}
	k.named[tie]++
	return Draw(k.Seed, tagOrder, tie, k.named[tie])
}
