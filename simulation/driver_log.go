package simulation

import "time"

// event logs an event now. The caller fills in the other fields.
func (w *world) event(kind EventKind, process, place string) *Event {
	last := len(w.log) - 1
	if last < 0 || len(w.log[last]) == cap(w.log[last]) {
		last++
		// Larger chunks would leave more memory unused.
		w.log = append(w.log, make([]Event, 0, 64))
	}
	w.log[last] = append(w.log[last], Event{At: time.Duration(w.now.Load()), Kind: kind, Process: process, Place: place})
	return &w.log[last][len(w.log[last])-1]
}

// count increments a counter.
func (w *world) count(what string) { w.event(Counted, "", "").Words = what }

// suffers logs a fault.
func (w *world) suffers(f Fault, process, place string) *Event {
	e := w.event(Suffered, process, place)
	e.Fault = &f
	return e
}
