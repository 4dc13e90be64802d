package simulation

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/record"
)

// process is one client process: its clock, its connections, its Coordinator, and
// the goroutine that runs the workload.
type process struct {
	w     *world
	index int
	name  string
	clock *processClock
	links []link // one for each place, and the resource's last
	calls map[*call]struct{}

	incarnation int      // counts its incarnations from 0
	letters     []string // that have arrived
	pausedUntil int64
	shuffled    bool
	asleepUntil int64

	// dead is set when the process has crashed. Its goroutines continue, because they
	// cannot be killed from outside, but in isolation: every call fails at once, every
	// timer is due, and their actions have no effect.
	dead  atomic.Bool
	ended bool // its workload has returned, and its Coordinator is closed

	endedIn int // the step in which it ended or crashed, see Order

	timers  []*timer // including some that are over
	sweepAt int

	subscriptions map[string]*subscription // by address: those that are open, or to be opened

	several    atomic.Bool    // more than one goroutine runs its workload
	goroutines int            // that Client.Go has started
	workers    sync.WaitGroup // for them
	turns      []*turn        // of goroutines that wait for them

	watched  bool         // its clock readings are recorded
	readings atomic.Int64 // how many there were
	resumes  atomic.Int64 // true time to which it runs ahead, see readings
	late     []*lateOps   // its requests since

	coordinator atomic.Pointer[quorum.Coordinator]
	ctx         context.Context
	cut         context.CancelCauseFunc // ends ctx when the process crashes; may be nil
	remains     atomic.Int64            // how many requests there were since
}

func newProcess(w *world, index int, name string) *process {
	p := &process{w: w, index: index, name: name, links: make([]link, len(w.places)+1), calls: map[*call]struct{}{}, sweepAt: 64}
	p.clock = newClock(p, w.now.Load())
	p.watched = w.watches(p)
	// A crash closes the Coordinator, and a context that never ends is cheaper for it.
	p.ctx = context.Background()
	if w.cfg.Locker != nil {
		p.ctx, p.cut = context.WithCancelCause(p.ctx)
	}
	return p
}

// gone reports whether the process has ended or crashed. For the driver.
func (p *process) gone() bool { return p.ended || p.dead.Load() }

// post gives an operation to the driver. The operations of a process that runs ahead wait.
func (p *process) post(o op) {
	if p.watched && p.ahead() {
		if told, ok := o.(interface{ stoppedAfter(clockReadings) }); ok {
			told.stoppedAfter(p.clock.readingsAt(p.w.now.Load()))
		}
		o = &late{op: o, p: p, until: p.resumes.Load()}
	}
	p.w.post(o)
}

// main is the process's own goroutine.
func (p *process) main(work Workload) {
	defer p.end()
	client := p.newClient(0, nil, nil)
	defer func() {
		if client.Locker == nil {
			return
		}
		p.workers.Wait()
		client.await()
		if err := client.Locker.Close(p.ctx); err != nil && !p.dead.Load() {
			p.panicked(err.Error())
		}
	}()
	defer p.recovered()
	locker, err := p.w.cfg.newLocker(p.parts(client.hooks()))
	if err != nil {
		p.panicked(err.Error())
		return
	}
	client.Locker = locker
	if on, ok := locker.(Coordinated); ok {
		client.Coordinator = on.Coordinator()
		p.coordinator.Store(client.Coordinator)
	}
	work(client)
}

// recovered reports a panic of the workload. Defer it.
func (p *process) recovered() {
	if fault := recover(); fault != nil {
		p.panicked(fmt.Sprintf("%v\n%s", fault, debug.Stack()))
	}
}

func (p *process) panicked(text string) { p.report(record.Panicked, p.name+": "+text) }

// report reports a violation that the code under test, or the code around it, has noticed.
func (p *process) report(kind record.ViolationKind, text string) {
	order := opOrder{process: p.index, kind: isReport, key: string(kind), value: text}
	p.post(&notice{at: order, do: func() { p.w.violation(kind, "%s", text) }})
}

// parts returns the Process for the Locker.
func (p *process) parts(hooks quorum.Hooks) Process {
	cfg := p.w.cfg.Quorum
	cfg.Clock = p.clock
	cfg.Random = &randomBytes{seed: p.w.seed, process: uint64(p.index) | uint64(p.incarnation)<<32}
	cfg.Owner = p.name
	cfg.Hooks = hooks
	parts := Process{Name: p.name, Index: p.index, Config: cfg}
	for i := range p.w.places {
		parts.Instances = append(parts.Instances, instance{p: p, place: i})
		parts.Redis = append(parts.Redis, redisConn{p: p, place: i})
	}
	return parts
}

// end is the process's last operation.
func (p *process) end() {
	p.tell(opOrder{kind: isEnd}, func() {
		p.ended, p.endedIn = true, p.w.step()
		p.w.event(record.Ended, p.name, "")
	})
}

// pause stops the process until a moment.
func (p *process) pause(until int64, shuffled bool) {
	p.pausedUntil, p.shuffled = max(p.pausedUntil, until), shuffled
	p.w.count(processPaused)
}

// suspend pauses the process together with its clocks.
func (p *process) suspend(until int64, frozen, shuffled bool) {
	p.pause(until, shuffled)
	p.asleepUntil = max(p.asleepUntil, until)
	p.clock.sleep(p.w.now.Load(), frozen)
	p.w.believes(p)
	p.w.ahead(p.asleepUntil, moment{p.gone, func() {
		if now := p.w.now.Load(); now >= p.asleepUntil {
			p.clock.wake(now)
			p.w.believes(p)
			p.reset()
		}
	}})
}

// reboot restarts the process after a while, with a new Coordinator and the machine's
// clocks.
func (p *process) reboot(after int64) {
	if p.gone() {
		return
	}
	p.crash()
	p.w.reboots++
	p.w.schedule(p.w.now.Load()+after, p.nextIncarnation)
}

func (p *process) nextIncarnation() {
	w, next := p.w, newProcess(p.w, p.index, p.name)
	w.reboots--
	next.incarnation = p.incarnation + 1
	next.clock.continueFrom(p.clock, w.now.Load())
	for i := range next.links {
		next.links[i].seq = p.links[i].seq // draws for calls depend on their numbers
	}
	next.readings.Store(p.readings.Load())
	w.processes[p.index] = next
	w.count(processRebooted)
	w.start(next, w.work)
}

// crash ends the process. What it has sent stays on its way.
func (p *process) crash() {
	if p.gone() {
		return
	}
	w := p.w
	w.event(record.Crashed, p.name, "")
	w.crashed(p)
	p.dead.Store(true)
	p.endedIn = w.step()
	p.resumes.Store(0)
	w.awake = true
	// First, because waiters of the closed Coordinator must not begin another round.
	if c := p.coordinator.Load(); c != nil {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(over) // the error says that goroutines remain, and they do
	}
	if p.cut != nil {
		p.cut(ErrCrashed)
	}
	for c := range p.calls {
		c.abandon()
	}
	clear(p.calls)
	for _, l := range p.late {
		l.carryOut(w) // they learn that the process is gone
	}
	p.late = nil
	for _, t := range p.turns {
		close(t.come)
	}
	p.turns = nil
	for _, e := range p.subscriptions {
		e.over = true
		e.end(ErrCrashed)
		e.unsubscribe() // its machine closes the connection
	}
	for _, t := range p.timers {
		t.fire()
	}
	p.timers = nil
}

// remain ends the calling goroutine of a crashed process after many attempts: a goroutine
// that retries forever would never block.
func (p *process) remain() {
	const enough = 10_000
	if p.remains.Add(1) > enough && p.w.resting.Load() {
		runtime.Goexit()
	}
}

// exit ends the goroutine of a workload whose process has crashed.
func (p *process) exit() {
	if p.dead.Load() {
		runtime.Goexit()
	}
}

// newLocker creates a process's Locker as the Config says.
func (c Config) newLocker(p Process) (Locker, error) {
	if c.Locker != nil {
		return c.Locker(p)
	}
	coordinator, err := quorum.New(p.Config, p.Instances...)
	if err != nil {
		return nil, err
	}
	return Library(coordinator), nil
}

// quarantined records the beginning of a quarantine.
func (p *process) quarantined(e quorum.QuarantineEvent) {
	p.tell(opOrder{kind: isReport, n: uint64(e.Err.Reason), key: e.Instance}, func() {
		w := p.w
		w.count(map[quorum.QuarantineReason]string{quorum.Restarted: quarantineRestarted, quorum.ClockJumped: quarantineJumped}[e.Err.Reason])
		w.event(record.Quarantined, p.name, e.Instance).Validity = e.Err.Remaining
	})
}
