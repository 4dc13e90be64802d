package kernel

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/goroutines"
)

// A process that is stopped at a clock reading may hold mutexes, and its other goroutines
// may wait for them. testing/synctest doesn't count a goroutine that waits for a mutex as
// durably blocked, so the driver would wait forever. Therefore no goroutine is blocked for
// the length of the pause. Instead the process runs ahead: its clock shows the end of the
// pause at once, and all its requests are deferred until that moment. Until then nothing
// reaches it. The process can't notice the difference, because it shares only its clock
// and its messages with the rest of the world.
//
// The n-th reading must not depend on goroutine scheduling. A reading is identified by its
// round (the time between two moments at which all goroutines are blocked) and, within a
// round, by its stack: readings of a round are counted in the order of their stacks. That
// order is known only after the round. So the run is played up to there, and then again
// with a stop at a known reading.

// readings tracks the clock readings of the processes that will be stopped at a reading. It
// has a mutex, because the code under test uses it concurrently.
type readings struct {
	k      *Kernel
	faults []*byReading
	// processes are those whose readings may be counted, in their present incarnations.
	processes []*Process
	// stopped stops a process at a reading, while all goroutines are blocked.
	stopped func(p *Process, f fault.Fault, where string)

	mu    sync.Mutex
	round []read         // of this round
	stops []*stop        // at known places
	held  []*heldReading // which wait until all other goroutines are blocked
	found *stop          // at a place that was searched for
}

// byReading is a fault that happens at a process's n-th reading of its clock.
type byReading struct {
	fault.Fault
	known bool  // it has a stop
	seen  []int // by process, over all its incarnations
}

// read is one reading of a clock.
type read struct {
	p       *Process
	at      int64 // true time, as the process sees it
	callers [32]uintptr
	n       int
}

// stop is where a process is stopped.
type stop struct {
	fault   int // its number among readings.faults
	process int
	round   uint64
	place   string
	nth     int // among those at the place in the round

	passed int
	done   bool
}

// heldReading is a goroutine that waits for its reading.
type heldReading struct {
	stop  *stop
	read  read
	fresh chan bool // whether to read again
}

// WatchReadings has the readings of some processes recorded, for a fault at one of them.
func (k *Kernel) WatchReadings(f fault.Fault, of []*Process, stopped func(p *Process, f fault.Fault, where string)) {
	if k.readings == nil {
		k.readings = &readings{k: k, stopped: stopped}
	}
	k.readings.faults = append(k.readings.faults, &byReading{Fault: f, seen: make([]int, len(of))})
	k.readings.processes = of
	for _, p := range of {
		p.Watched = k.watches(p)
	}
}

// stopAll sets the stops that were found in earlier runs.
func (r *readings) stopAll(stops []*stop) {
	for _, s := range stops {
		s.passed, s.done = 0, false
		r.faults[s.fault].known = true
	}
	r.stops = stops
}

// watches reports whether the process's readings are recorded.
func (k *Kernel) watches(p *Process) bool {
	return k.readings != nil && p.Index < len(k.readings.processes) &&
		slices.ContainsFunc(k.readings.faults, func(f *byReading) bool { return fault.Matches(f.Process, p.Name) })
}

// stopsAtReading records a reading of the process's clock, and stops the process there if
// a fault says so. If fresh, the caller must read the clock again.
func (p *Process) stopsAtReading() (fresh bool) {
	p.Readings.Add(1)
	if !p.Watched || p.Dead.Load() {
		return false
	}
	r := p.kernel.readings
	one := read{p: p, at: p.Present()}
	one.n = runtime.Callers(2, one.callers[:])
	r.mu.Lock()
	r.round = append(r.round, one)
	at := r.stopAt(&one)
	if at == nil {
		r.mu.Unlock()
		return false
	}
	h := &heldReading{stop: at, read: one, fresh: make(chan bool, 1)}
	r.held = append(r.held, h)
	if len(r.held) == 1 {
		go r.letGo()
	}
	r.mu.Unlock()
	return <-h.fresh
}

// stopAt is the stop at the reading's place.
func (r *readings) stopAt(one *read) *stop {
	round := r.k.round.Load()
	for _, s := range r.stops {
		if !s.done && s.round == round && s.process == one.p.Index && s.place == one.place() {
			return s
		}
	}
	return nil
}

// letGo resumes waiting readings when all other goroutines are blocked. Readings with the
// same stack resume together, because they are indistinguishable. It runs on a goroutine
// of its own, for which the driver waits.
func (r *readings) letGo() {
	for {
		goroutines.AwaitBlocked()
		r.mu.Lock()
		first := slices.MinFunc(r.held, func(a, b *heldReading) int { return cmp.Compare(a.stop.fault, b.stop.fault) })
		s := first.stop
		group := slices.Clone(r.held)
		group = slices.DeleteFunc(group, func(h *heldReading) bool { return h.stop != s })
		r.held = slices.DeleteFunc(r.held, func(h *heldReading) bool { return h.stop == s })
		fresh := false
		if s.passed += len(group); s.passed >= s.nth {
			s.done = true
			f := r.faults[s.fault].Fault
			r.stopped(first.read.p, f, first.read.function())
			fresh = !f.Stale
		}
		over := len(r.held) == 0
		for _, h := range group {
			h.fresh <- fresh
		}
		r.mu.Unlock()
		if over {
			return
		}
	}
}

// Decided reports whether a reading was found at which a process stops: the run is to be played
// again, with the stop.
func (k *Kernel) Decided() bool { return k.readings != nil && k.readings.found != nil }

// PlayAgain takes over the stops that were found in an earlier run.
func (k *Kernel) PlayAgain(former *Kernel) {
	k.readings.stopAll(append(former.readings.stops, former.readings.found))
}

// counted ends a round. The driver calls it.
func (r *readings) counted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.round) == 0 {
		return
	}
	for i, f := range r.faults {
		if f.known || r.found != nil {
			continue
		}
		for _, p := range r.processes {
			if p.Index < len(f.seen) && p.Watched && fault.Matches(f.Process, p.Name) {
				r.count(i, f, p)
			}
		}
	}
	r.round = r.round[:0]
}

func (r *readings) count(i int, f *byReading, p *Process) {
	var mine []read
	for _, one := range r.round {
		if one.p.Index == p.Index && one.at >= int64(f.At) && (f.Func == "" || f.Func == one.function()) {
			mine = append(mine, one)
		}
	}
	nth := f.Nth - f.seen[p.Index]
	if f.seen[p.Index] += len(mine); nth < 1 || nth > len(mine) {
		return
	}
	places := make([]string, len(mine))
	for j := range mine {
		places[j] = mine[j].place()
	}
	slices.Sort(places)
	place := places[nth-1]
	r.found = &stop{fault: i, process: p.Index, round: r.k.round.Load(), place: place, nth: nth - slices.Index(places, place)}
}

// frames iterates over the reading's callers outside of this package's clock.
func (o *read) frames(yield func(runtime.Frame) bool) {
	for frames := runtime.CallersFrames(o.callers[:o.n]); ; {
		f, more := frames.Next()
		if !strings.Contains(f.Function, "/kernel.(*Clock).") && !yield(f) || !more {
			return
		}
	}
}

// place names the reading by its stack.
func (o *read) place() string {
	var b strings.Builder
	for f := range o.frames {
		_, _ = fmt.Fprintf(&b, "%s:%06d\n", f.Function, f.Line) // it can't fail
	}
	return b.String()
}

// function names the function that reads the clock: the first caller outside of package
// drift, with the last element of its package's path.
func (o *read) function() string {
	for f := range o.frames {
		name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		if !strings.HasPrefix(name, "drift.") {
			return name
		}
	}
	return ""
}

// Present is the true time up to which the process has run.
func (p *Process) Present() int64 { return max(p.kernel.Now.Load(), p.Resumes.Load()) }

// Ahead reports whether the process runs ahead of the world.
func (p *Process) Ahead() bool { return p.Resumes.Load() > p.kernel.Now.Load() }

// RunAhead lets the process run ahead to a moment, with its clocks as they will be then.
func (p *Process) RunAhead(until int64, suspended, frozen bool) {
	p.Clock.foresee(until, suspended, frozen)
	p.Resumes.Store(until)
}
