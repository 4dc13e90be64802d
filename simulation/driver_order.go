package simulation

import (
	"cmp"
	"slices"

	"github.com/redquorum/redlock/simulation/fault"
)

func ofProcess(p *process) uint64 { return 1 << p.index }

func ofServer(s *server) uint64 { return 1 << (maxOrderProcesses + s.index) }

// ofKeys is what a process has in a server's data. The rest of the data doesn't matter to it.
func ofKeys(p *process, s *server) uint64 { return ofPair(p, s, 0) }

// ofLink is a process's connection to a server.
func ofLink(p *process, s *server) uint64 { return ofPair(p, s, 1) }

// ofPair is one of two parts that belong to a process and a server. Two pairs may have the same bit: then
// more events depend on each other than need to.
func ofPair(p *process, s *server, part int) uint64 {
	const first = maxOrderProcesses + maxOrderServers
	const each = (62 - first) / 2
	return 1 << (first + part*each + (p.index*len(p.w.servers)+s.index)%each)
}

// touch records that the current step touches parts of the world.
func (w *world) touch(parts uint64) {
	if o := w.cfg.Order; o != nil && len(o.Steps) > 0 {
		o.Steps[len(o.Steps)-1].Touched |= parts
	}
}

// step is the index of the current step.
func (w *world) step() int {
	if w.cfg.Order == nil {
		return -1
	}
	return len(w.cfg.Order.Steps) - 1
}

// unsaid is an event that may become impossible. overSince is the step that made it impossible.
type unsaid interface{ overSince() int }

// choose removes the chosen event from the queue. Then the queue is no longer in its usual order.
// ended says that the run is to end.
func (w *world) choose() (e event, ok, ended bool) {
	o := w.cfg.Order
	for !w.orderEnded {
		if n := len(o.Steps); n > 0 && o.Steps[n-1].Touched == 0 {
			o.Steps[n-1].Touched = touchesEverything // nothing is known about it
		}
		w.queue = slices.DeleteFunc(w.queue, func(e event) bool {
			if e.what.live() {
				return false
			}
			w.drop(e)
			return true
		})
		due, fault, next := w.due()
		if len(due) == 0 && next == never {
			return event{}, false, false
		}
		at := 0
		// An event that comes before all others of its moment is no choice.
		forced := len(due) > 0 && w.queue[due[0]].first < 0
		if forced {
			due = due[:1]
		}
		s := OrderStep{Options: make([]Option, 0, len(due)+1)}
		for _, i := range due {
			s.Options = append(s.Options, Option{ID: w.queue[i].id, After: w.queue[i].made, Fault: w.queue[i].fault})
		}
		if !forced && fault && next != never {
			s.Options = append(s.Options, Option{ID: TimePasses, After: len(o.Steps) - 1})
			s.Expands = len(due) > 0
		}
		if o.Choose != nil {
			if at = o.Choose(s.Options); at < 0 {
				w.orderEnded = true
				break
			}
			at = min(at, len(s.Options)-1)
		}
		s.Chosen = at
		if s.Options[at].ID == TimePasses {
			s.Touched = touchesEverything
			o.Steps = append(o.Steps, s)
			w.now.Store(next)
			continue
		}
		e = w.queue[due[at]]
		w.queue = slices.Delete(w.queue, due[at], due[at]+1)
		switch {
		case e.proc != nil:
			s.Touched = ofProcess(e.proc)
		case forced:
			s.Touched = touchesEverything
		}
		o.Steps = append(o.Steps, s)
		e.at = w.now.Load()
		return e, true, false
	}
	return event{}, false, true
}

// due lists the events that can be next, in the order in which they were caused. next is the moment
// to which time can pass. waits says that no event is due except for faults, so
// that time can pass.
func (w *world) due() (due []int, waits bool, next int64) {
	now := w.now.Load()
	next, waits = never, true
	for i := range w.queue {
		e := &w.queue[i]
		if at := e.dueAt(w); at > now {
			next = min(next, at)
			continue
		}
		due = append(due, i)
		waits = waits && e.fault
	}
	slices.SortFunc(due, func(a, b int) int {
		a1, b1 := &w.queue[a], &w.queue[b]
		return cmp.Or(cmp.Compare(min(a1.first, 0), min(b1.first, 0)), cmp.Compare(a1.n, b1.n))
	})
	return due, waits, next
}

// dueAt is when an event can happen. It is later if messages are stalled or its process is paused.
func (e *event) dueAt(w *world) int64 {
	at := e.at
	if e.message {
		at = max(at, w.stalledUntil)
	}
	if e.proc != nil {
		at = max(at, e.proc.pausedUntil)
	}
	return at
}

// drop handles an event that can no longer happen.
func (w *world) drop(e event) {
	if m, ok := e.what.(interface{ missed(w *world, at int64) }); ok {
		m.missed(w, e.at)
	}
	if e.fault {
		w.touch(touchesEverything) // the step has ended the last process, and no fault comes after that
		return
	}
	if e.dueAt(w) > w.now.Load() {
		return
	}
	step := w.step()
	if u, ok := e.what.(unsaid); ok {
		step = min(step, u.overSince())
	}
	w.cfg.Order.expand(step)
}

// name names an event for Option.ID. Events with the same tie are caused by the same process, so their
// numbers don't depend on the order of independent events.
func (w *world) name(tie uint64) uint64 {
	if w.cfg.Order == nil {
		return 0
	}
	if w.named == nil {
		w.named = map[uint64]uint64{}
	}
	w.named[tie]++
	return draw(w.seed, tagOrder, tie, w.named[tie])
}

// touchedByFault returns the parts of the world that a fault changes.
func (w *world) touchedByFault(f fault.Fault) (parts uint64) {
	switch {
	case f.Process != "" && slices.Contains([]fault.Kind{fault.Pause, fault.Suspend, fault.Crash, fault.Reboot, fault.Step, fault.Rate}, f.Kind):
		for _, p := range w.processes {
			if fault.Matches(f.Process, p.name) {
				parts |= ofProcess(p)
			}
		}
		return parts | touchesChecks
	case f.Server != "" && f.For == 0 && slices.Contains([]fault.Kind{fault.Step, fault.Rate, fault.Evict, fault.Restart, fault.Failover}, f.Kind):
		for _, s := range w.servers {
			if fault.Matches(f.Server, s.name) {
				parts |= s.touchedBy(f.Kind)
			}
		}
		return parts
	}
	return touchesEverything
}

// touchedBy returns the parts of the world that change if the server's clock steps, or if it loses data
// or its connections.
func (s *server) touchedBy(k fault.Kind) uint64 {
	parts := ofServer(s)
	for _, p := range s.w.processes {
		parts |= ofKeys(p, s)
		if k == fault.Restart || k == fault.Failover {
			parts |= ofLink(p, s)
			if len(s.subscriptions) > 0 {
				parts |= ofProcess(p) // it learns that its subscription has ended
			}
		}
	}
	return parts
}
