package kernel

import (
	"runtime"
	"sync/atomic"
)

// Process is a process as the clockwork sees it: its clock with its timers, and whether it runs.
type Process struct {
	kernel *Kernel
	Index  int
	Name   string
	Clock  *Clock

	PausedUntil int64
	Shuffled    bool // what it gets after the pause comes in any order

	// Dead is set when the process has crashed. Its goroutines continue, because they
	// cannot be killed from outside, but in isolation: every call fails at once, every
	// timer is due, and their actions have no effect.
	Dead    atomic.Bool
	Ended   bool         // its workload has returned
	EndedIn int          // the step in which it ended or crashed, see Order
	remains atomic.Int64 // how many requests there were since it crashed

	timers  []*Timer // including some that are over
	sweepAt int

	Watched  bool         // its clock readings are recorded
	Readings atomic.Int64 // how many there were
	Resumes  atomic.Int64 // true time to which it runs ahead, see readings
	late     []*lateOps   // its requests since

	// unsimulated reports a call of a method of the clock that can't be simulated.
	unsimulated func(method string)
}

// Init prepares a process that starts now.
func (p *Process) Init(k *Kernel, index int, name string, unsimulated func(method string)) {
	p.kernel, p.Index, p.Name, p.unsimulated, p.sweepAt = k, index, name, unsimulated, 64
	p.Clock = newClock(p, k.Now.Load())
	p.Watched = k.watches(p)
}

// Continues makes the process the next incarnation of another one, on the same machine.
func (p *Process) Continues(former *Process) {
	p.Clock.continueFrom(former.Clock, p.kernel.Now.Load())
	p.Readings.Store(former.Readings.Load())
	if r := p.kernel.readings; r != nil && p.Index < len(r.processes) {
		r.processes[p.Index] = p
	}
}

// Gone reports whether the process has ended or crashed. For the driver.
func (p *Process) Gone() bool { return p.Ended || p.Dead.Load() }

// Die ends the process. What its goroutines still ask for is answered by SettleLate.
func (p *Process) Die() {
	p.Dead.Store(true)
	p.EndedIn = p.kernel.Step()
	p.Resumes.Store(0)
	p.kernel.Awake = true
}

// DropTimers fires all timers of a process that has died.
func (p *Process) DropTimers() {
	for _, t := range p.timers {
		t.fire()
	}
	p.timers = nil
}

// SettleLate carries out what a process asked for while it ran ahead, after it has died: then it
// learns that.
func (p *Process) SettleLate() {
	for _, l := range p.late {
		l.carryOut()
	}
	p.late = nil
}

// Post gives an operation to the driver. The operations of a process that runs ahead wait.
func (p *Process) Post(o Op) {
	if p.Watched && p.Ahead() {
		if told, ok := o.(interface{ StoppedAfter(ClockReadings) }); ok {
			told.StoppedAfter(p.Clock.ReadingsAt(p.kernel.Now.Load()))
		}
		o = &late{Op: o, p: p, until: p.Resumes.Load()}
	}
	p.kernel.post(o)
}

// Remain ends the calling goroutine of a crashed process after many attempts: a goroutine
// that retries forever would never block.
func (p *Process) Remain() {
	const enough = 10_000
	if p.remains.Add(1) > enough && p.kernel.resting.Load() {
		runtime.Goexit()
	}
}

// Exit ends the goroutine of a workload whose process has crashed.
func (p *Process) Exit() {
	if p.Dead.Load() {
		runtime.Goexit()
	}
}
