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

	// Dead is set when the process has crashed. Its goroutines continue, because they
	// cannot be killed from outside, but in isolation: every call fails at once, every
	// timer is due, and their actions have no effect.
	Dead    atomic.Bool
	Ended   bool         // its workload has returned
	remains atomic.Int64 // how many requests there were since it crashed

	timers  []*Timer // including some that are over
	sweepAt int

	// unsimulated reports a call of a method of the clock that can't be simulated.
	unsimulated func(method string)
}

// Init prepares a process that starts now.
func (p *Process) Init(k *Kernel, index int, name string, unsimulated func(method string)) {
	p.kernel, p.Index, p.Name, p.unsimulated, p.sweepAt = k, index, name, unsimulated, 64
	p.Clock = newClock(p, k.Now.Load())
}

// Continues makes the process the next incarnation of another one, on the same machine.
func (p *Process) Continues(former *Process) {
	p.Clock.continueFrom(former.Clock, p.kernel.Now.Load())
}

// Gone reports whether the process has ended or crashed. For the driver.
func (p *Process) Gone() bool { return p.Ended || p.Dead.Load() }

// Die ends the process.
func (p *Process) Die() {
	p.Dead.Store(true)
	p.kernel.Awake = true
}

// DropTimers fires all timers of a process that has died.
func (p *Process) DropTimers() {
	for _, t := range p.timers {
		t.fire()
	}
	p.timers = nil
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
