package simulation

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

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

// violation logs a violation at this moment: one that shows itself. Others are found in the log,
// see package check.
func (w *world) violation(kind record.ViolationKind, format string, args ...any) {
	w.event(record.Found, "", "").Violation = &record.Violation{Kind: kind, At: time.Duration(w.now.Load()), Text: fmt.Sprintf(format, args...)}
}
