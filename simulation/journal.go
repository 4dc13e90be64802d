package simulation

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// journal is the log of a run that is under way, by the kernel's true time.
type journal struct {
	kernel.Kernel
	log record.Log
}

// event logs an event now. The caller fills in the other fields.
func (j *journal) event(kind record.EventKind, process, place string) *record.Event {
	return j.log.Add(time.Duration(j.Now.Load()), kind, process, place)
}

// count increments a counter.
func (j *journal) count(what string) { j.event(record.Counted, "", "").Words = what }

// suffers logs a fault.
func (j *journal) suffers(f fault.Fault, process, place string) *record.Event {
	e := j.event(record.Suffered, process, place)
	e.Fault = &f
	return e
}

// violation logs a violation at this moment: one that shows itself. Others are found in the log,
// see package check.
func (j *journal) violation(kind record.ViolationKind, format string, args ...any) {
	j.event(record.Found, "", "").Violation = &record.Violation{Kind: kind, At: time.Duration(j.Now.Load()), Text: fmt.Sprintf(format, args...)}
}
