package simulation

import "github.com/redquorum/redlock/simulation/record"

import "github.com/redquorum/redlock/simulation/fault"

import "time"

// event logs an event now. The caller fills in the other fields.
func (w *world) event(kind record.EventKind, process, place string) *record.Event {
	return w.log.Add(time.Duration(w.now.Load()), kind, process, place)
}

// count increments a counter.
func (w *world) count(what string) { w.event(record.Counted, "", "").Words = what }

// suffers logs a fault.
func (w *world) suffers(f fault.Fault, process, place string) *record.Event {
	e := w.event(record.Suffered, process, place)
	e.Fault = &f
	return e
}
