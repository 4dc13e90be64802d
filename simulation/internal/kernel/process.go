package kernel

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// Process is a process as the clockwork sees it: its clock with its timers, and whether it runs. It is
// the clock.Clock of the code under test.
//
// Timer, Ticker, Tick and AfterFunc make timers that work only in real time. They panic.
type Process struct {
	Clock
	kernel *Kernel
	Index  int
	Name   string

	PausedUntil int64

	// Dead is set when the process has crashed. Its goroutines continue, because they
	// cannot be killed from outside, but in isolation: every call fails at once, every
	// timer is due, and their actions have no effect.
	Dead    atomic.Bool
	Ended   bool         // its workload has returned
	remains atomic.Int64 // how many requests there were since it crashed

	timers  []*Timer // including some that are over
	sweepAt int
}

var _ clock.Clock = (*Process)(nil)

// Init prepares a process that starts now. With a former one, it is the next incarnation on the
// same machine.
func (p *Process) Init(k *Kernel, index int, name string, former *Process) {
	p.kernel, p.Index, p.Name, p.sweepAt = k, index, name, 64
	p.now = &k.Now
	if former == nil {
		p.Clock.begin(nil)
	} else {
		p.Clock.begin(&former.Clock)
	}
}

// Gone reports whether the process has ended or crashed. For the driver.
func (p *Process) Gone() bool { return p.Ended || p.Dead.Load() }

// Die ends the process.
func (p *Process) Die() {
	p.Dead.Store(true)
	p.kernel.Awake = true
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

// Post gives the driver an operation of the process.
func (p *Process) Post(order OpOrder, do func()) {
	order.Process = p.Index
	p.kernel.post(op{order, do})
}

// Tell is Post of an operation that has no effect once the process has ended.
func (p *Process) Tell(order OpOrder, do func()) {
	p.Post(order, func() {
		if !p.Gone() {
			do()
		}
	})
}

// Push enters an event that reaches the process: a pause defers it.
func (p *Process) Push(at int64, tie uint64, over func() bool, do func()) *Event {
	e := &Event{At: at, first: at, tie: tie, pausedUntil: &p.PausedUntil, over: over, Do: do}
	p.kernel.push(e)
	return e
}

// unsimulated is the panic of the part of clock.Clock that is not simulated.
const unsimulated = "simulation: this method of the clock can't be simulated; use After or WithTimeout"

// AfterFunc panics, see Process.
func (p *Process) AfterFunc(time.Duration, func()) *clock.Timer { panic(unsimulated) }

// Timer panics, see Process.
func (p *Process) Timer(time.Duration) *clock.Timer { panic(unsimulated) }

// Ticker panics, see Process.
func (p *Process) Ticker(time.Duration) *clock.Ticker { panic(unsimulated) }

// Tick panics, see Process.
func (p *Process) Tick(time.Duration) <-chan time.Time { panic(unsimulated) }
