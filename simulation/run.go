package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/record"
)

// Result is the result of a run. It depends only on the seed, the Config, the Schedule
// and the Workload.
type Result struct {
	// Log is everything that happened.
	Log record.Log
	// Ended is the true time of the last event.
	Ended time.Duration
}

// Kinds lists the kinds of violations found, each once, sorted.
func (r Result) Kinds() []record.ViolationKind {
	var kinds []record.ViolationKind
	for _, v := range r.Log.Violations() {
		kinds = append(kinds, v.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// With returns a copy of the Result with one more violation in the log, at its moment. It
// is for demands of a scenario, which the checks can't know.
func (r Result) With(v record.Violation) Result {
	r.Log = append(slices.Clone(r.Log), &record.Event{At: v.At, Kind: record.Found, Violation: &v})
	slices.SortStableFunc(r.Log, func(a, b *record.Event) int { return cmp.Compare(a.At, b.At) })
	return r
}

// Run plays one run: processes execute work against servers, in virtual time and with the
// faults of schedule. The same arguments give the same Result on any machine.
//
// Don't call it in a testing/synctest bubble. Work that never blocks, such as a busy loop,
// hangs the run.
//
// All errors are ErrConfig.
func Run(seed uint64, cfg Config, schedule Schedule, work Workload) (Result, error) {
	cfg = cfg.complete()
	if work == nil {
		return Result{}, fmt.Errorf("%w: no Workload; pass what each process does", ErrConfig)
	}
	if err := cfg.validate(); err != nil {
		return Result{}, err
	}
	if err := schedule.validate(cfg.processNames(), cfg.serverNames(), cfg.Replicas); err != nil {
		return Result{}, err
	}
	w := newWorld(seed, cfg, schedule, work)
	if failure := bubble(w.drive); failure != nil {
		w.violation(record.LeftOver, "%v", failure)
	}
	rules := check.Rules{
		Admits:   cfg.Guard == GuardAdmits || cfg.Guard == GuardIdempotent,
		Patience: max(0, cfg.Progress),
		Requests: true,
	}
	return Result{Log: check.Log(w.log, rules), Ended: time.Duration(w.Now.Load())}, nil
}

// bubble runs f in a testing/synctest bubble, which also works outside of a test. The error
// says what remained when f returned. The *testing.T is empty, so nothing in the bubble may
// use it.
//
// A panic of f cannot be caught here. It ends the program, with its stack.
func bubble(f func()) (failure error) {
	defer func() {
		if fault := recover(); fault != nil {
			failure = fmt.Errorf("%v", fault)
		}
	}()
	var t testing.T
	finished := false
	synctest.Test(&t, func(*testing.T) {
		f()
		finished = true
	})
	if !finished {
		return errors.New("simulation: the driver did not finish")
	}
	return nil
}
