package simulation

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// world is one run: the clockwork, everything that it moves, and the log of what happens, by the
// kernel's true time.
type world struct {
	kernel.Kernel
	log    record.Log
	cfg    Config
	work   Workload
	events int // events that happened

	reboots int                  // processes that have crashed and will start again
	spares  int                  // servers that addresses have led to, see Switch
	leases  int                  // acquired
	letters map[string]*[]string // see Client.Letters

	names     []string // of servers, by their indexes
	servers   []*server
	processes []*process
	witness   *process
	resource  *resource
	// The faults that are looked up when something happens.
	links Schedule       // by messages
	lags  Schedule       // by replication
	byNth []*byOperation // by operations
}

// byOperation is a fault that happens at a process's n-th operation.
type byOperation struct {
	fault.Fault
	seen []int // by process, over all its incarnations
}

// running are the names of the processes that have not ended.
func (w *world) running() (names []string) {
	for _, p := range w.processes {
		if !p.Gone() {
			names = append(names, p.Name)
		}
	}
	return names
}

// event logs an event now. The caller fills in the other fields.
func (w *world) event(kind record.EventKind, process, place string) *record.Event {
	return w.log.Add(time.Duration(w.Now.Load()), kind, process, place)
}

// count increments a counter.
func (w *world) count(what string) { w.event(record.Counted, "", "").Words = what }

// suffers logs a fault.
func (w *world) suffers(f fault.Fault, process, place string) {
	w.event(record.Suffered, process, place).Fault = &f
}

// violation logs a violation at this moment: one that shows itself. Others are found in the log,
// see package check.
func (w *world) violation(kind record.ViolationKind, format string, args ...any) {
	w.event(record.Found, "", "").Violation = &record.Violation{Kind: kind, At: time.Duration(w.Now.Load()), Text: fmt.Sprintf(format, args...)}
}
