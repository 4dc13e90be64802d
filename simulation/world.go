package simulation

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// world is one run. A single goroutine, the driver, owns everything in it. The goroutines
// of the code under test are blocked while it works, and it waits (in settle) while they
// run. They communicate with it only through post.
type world struct {
	seed uint64
	cfg  Config
	work Workload

	now    atomic.Int64 // true time in nanoseconds from the start; only the driver writes it
	queue  queue
	n      uint64 // events entered
	events int    // events that happened
	timers int    // those among them that were plain timers
	steps  atomic.Int64
	round  atomic.Uint64 // how often all goroutines stood

	// resting is set while the driver waits and the code under test runs. At other
	// times it is the driver itself that runs it, see call.deliver.
	resting atomic.Bool
	woke    bool // a goroutine of the code under test was woken since the last settle

	inboxMu sync.Mutex
	inbox   []op
	drained []op // the inbox before, for its memory
	orders  []opOrder

	logs    bool // servers keep logs: somebody will read them
	scripts map[string]Script
	reboots int // processes that have crashed and will start again

	servers   []*server
	places    []place // what processes have links to: the servers, and the aliases
	processes []*process
	resource  *resource
	links     Schedule       // the faults that links look at
	lags      Schedule       // those that replication looks at
	proxies   Schedule       // the proxies before servers
	switches  Schedule       // the faults that new connections look at
	ofClocks  Schedule       // those of processes' clocks, by their moments
	byNth     []*byOperation // the faults that operations look at
	readings  *readings      // the faults that readings of clocks look at; nil if there are none

	witness *process
	log     Log
	check   checker
}

// place is where a process's messages go: a server, by one of its names.
type place struct {
	name     string
	server   *server
	database int
}

// op is something that the code under test asks of the world.
type op interface {
	// order is the operation's place among those that were posted in one step.
	// Goroutines post in any order; what the world makes of it must not depend
	// on that.
	order() opOrder
	// apply carries it out, on the driver's goroutine.
	apply(w *world)
}

// opOrder sorts operations. Two that are equal in all of it can't be told apart.
type opOrder struct {
	process, kind, place, op int
	n                        uint64
	key, value               string
}

// The kinds, in their order within a process.
const (
	isRecord = iota
	isGain
	isCall
	isCancel
	isTimer
	isReport
	isUnsubscribe
	isSpawn
	isTurn
	isEnd
	isStop
	isLetter
	isMailbox
)

func (o *opOrder) compare(p *opOrder) int {
	switch {
	case o.process != p.process:
		return o.process - p.process
	case o.kind != p.kind:
		return o.kind - p.kind
	case o.place != p.place:
		return o.place - p.place
	case o.op != p.op:
		return o.op - p.op
	}
	return cmp.Or(cmp.Compare(o.n, p.n), strings.Compare(o.key, p.key), strings.Compare(o.value, p.value))
}

func newWorld(seed uint64, cfg Config, schedule Schedule, work Workload) *world {
	w := &world{seed: seed, cfg: cfg, work: work, woke: true, queue: make(queue, 0, 64), inbox: make([]op, 0, 32), drained: make([]op, 0, 32)}
	w.check.w = w
	w.scripts = canonical(cfg.Scripts)
	w.logs = cfg.Replicas > 0 || cfg.WaitReplicas > 0 || slices.ContainsFunc(schedule, func(f Fault) bool {
		return f.Kind == Failover || f.Kind == SplitBrain || f.Kind == Flush || f.Kind == Restart && f.Keep != KeepNothing
	})
	for i, name := range cfg.serverNames() {
		w.servers = append(w.servers, newServer(w, i, name))
	}
	for _, s := range w.servers {
		w.places = append(w.places, place{name: s.name, server: s})
	}
	for _, a := range cfg.Aliases {
		w.places = append(w.places, place{name: a.Name, server: w.servers[slices.Index(cfg.serverNames(), a.Server)], database: a.Database})
	}
	for _, s := range w.servers {
		s.serve()
	}
	w.resource = newResource(w)
	for i, name := range cfg.processNames() {
		p := newProcess(w, i, name)
		w.processes = append(w.processes, p)
		w.start(p, work)
	}
	last := time.Duration(0)
	for _, f := range schedule {
		w.plan(f)
		last = max(last, f.At+f.For)
	}
	if w.cfg.Horizon == 0 {
		w.cfg.Horizon = last + 10*time.Minute
	}
	return w
}

// post hands an operation to the driver.
func (w *world) post(o op) {
	w.inboxMu.Lock()
	w.inbox = append(w.inbox, o)
	w.inboxMu.Unlock()
}

// push enters an event at the true time at, or at once if that has passed.
func (w *world) push(at int64, tie uint64, p *process, what happening) {
	w.pushFrom(at, at, tie, p, what)
}

// pushFrom enters an event that was due at an earlier moment than that to which
// it was put off.
func (w *world) pushFrom(at, first int64, tie uint64, p *process, what happening) {
	if at == never {
		return
	}
	now := w.now.Load()
	w.n++
	w.queue.push(event{at: max(at, now), first: max(first, now), tie: tie, n: w.n, proc: p, what: what})
}

// ahead enters an event that comes before all others of its moment.
func (w *world) ahead(at int64, what happening) {
	w.n++
	w.queue.push(event{at: max(at, w.now.Load()), first: -1, n: w.n, what: what})
}

// drive plays the run to its end. Each event wakes at most one goroutine. The next event
// waits until all goroutines are blocked again.
func (w *world) drive(ctx context.Context) {
	for broken := false; ; {
		w.settle()
		if !broken && (ctx.Err() != nil || w.readings.decided() != nil) {
			w.end() // it is played again, and differs from here on; or not at all
			broken = true
			continue
		}
		e, ok := w.next()
		if ok && !broken {
			why := ""
			switch {
			case time.Duration(e.at) > w.cfg.Horizon:
				why = fmt.Sprintf("not ended after %v of virtual time", w.cfg.Horizon)
			case w.events >= w.cfg.MaxEvents:
				why = fmt.Sprintf("not ended after %d events", w.events)
			}
			if why != "" {
				w.breakOff(why)
				broken = true
				continue
			}
		}
		switch {
		case ok && !broken:
			w.now.Store(e.at)
			w.events++
			if d, ok := e.what.(*due); ok && d.t.ch != nil {
				w.timers++
			}
			e.what.happen(w)
			continue
		case w.running() == 0:
			if w.cfg.Witness && w.witness == nil && !broken {
				w.callWitness()
				continue
			}
			return
		case broken:
			return // what is left over is found when the bubble ends
		}
		w.breakOff("nothing is left that could wake them")
		broken = true
	}
}

// breakOff reports that processes are stuck, with all goroutines, and ends them.
func (w *world) breakOff(why string) {
	var stuck []string
	for _, p := range w.processes {
		if !p.gone() {
			stuck = append(stuck, p.name)
		}
	}
	w.check.violation(Stuck, "%s: %s\n%s", strings.Join(stuck, ", "), why, stacks())
	w.end()
}

// end ends all processes.
func (w *world) end() {
	for _, p := range w.processes {
		p.crash()
	}
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// settle waits until all goroutines of the code under test are blocked and executes their
// requests, until there are no more.
func (w *world) settle() {
	for {
		if w.woke {
			w.woke = false
			w.steps.Add(1)
			w.resting.Store(true)
			synctest.Wait()
			w.resting.Store(false)
			if w.readings != nil {
				w.readings.counted()
			}
			w.round.Add(1)
		}
		w.inboxMu.Lock()
		ops := w.inbox
		w.inbox, w.drained = w.drained[:0], ops
		w.inboxMu.Unlock()
		if len(ops) == 0 && !w.woke {
			return
		}
		w.carryOut(w.putOff(ops))
		clear(w.drained)
	}
}

// carryOut carries out what was asked for in one step.
func (w *world) carryOut(ops []op) {
	if len(ops) > 1 {
		w.sort(ops)
		ops = joinTimers(ops)
	}
	for _, o := range ops {
		o.apply(w)
	}
}

// sort sorts operations by their order. There are rarely more than a dozen.
func (w *world) sort(ops []op) {
	orders := w.orders[:0]
	for _, o := range ops {
		orders = append(orders, o.order())
	}
	w.orders = orders
	for i := 1; i < len(ops); i++ {
		o, order := ops[i], orders[i]
		j := i
		for ; j > 0 && order.compare(&orders[j-1]) < 0; j-- {
			ops[j], orders[j] = ops[j-1], orders[j-1]
		}
		ops[j], orders[j] = o, order
	}
}

// joinTimers joins the timers of one process that were set in one step for one moment.
// They are indistinguishable, so any order among them would depend on goroutine
// scheduling. They fire together.
func joinTimers(ops []op) []op {
	kept := ops[:0]
	for _, o := range ops {
		t, ok := o.(*timer)
		if ok && len(kept) > 0 {
			if before, ok := kept[len(kept)-1].(*timer); ok && before.order() == t.order() {
				before.more = append(before.more, t)
				continue
			}
		}
		kept = append(kept, o)
	}
	return kept
}

// next removes the next live event from the queue. Events of a paused process are deferred
// until it runs again.
func (w *world) next() (event, bool) {
	for len(w.queue) > 0 {
		e := w.queue.pop()
		if !e.what.live() {
			if r, ok := e.what.(*reply); ok && r.late() {
				w.check.late(r, e.at)
			}
			continue
		}
		if p := e.proc; p != nil && p.pausedUntil > e.at {
			e.at = p.pausedUntil
			if p.shuffled {
				e.first = e.at
			}
			w.queue.push(e)
			continue
		}
		return e, true
	}
	return event{}, false
}

func (w *world) running() int {
	n := 0
	for _, p := range w.processes {
		if !p.gone() {
			n++
		}
	}
	return n
}

// start lets a process begin now.
func (w *world) start(p *process, work Workload) {
	w.push(w.now.Load(), draw(w.seed, tagTie, uint64(p.index)), p, &begin{p: p, work: work})
}

// callWitness starts the last client, see Config.Witness.
func (w *world) callWitness() {
	w.witness = newProcess(w, len(w.processes), "witness")
	w.processes = append(w.processes, w.witness)
	keys := w.check.keys()
	w.start(w.witness, func(c *Client) {
		ttl := max(w.cfg.Quorum.MaxTTL, w.cfg.Quorum.TTL)
		for _, key := range keys {
			// By steps of its own: how long Acquire waits may depend on which of
			// several answers that come at one moment it has seen.
			var lease Lease
			var err error
			for range 30 {
				if lease, err = c.Locker.TryAcquire(c.ctx, key); err == nil {
					break
				}
				c.Sleep(ttl / 10)
			}
			if err != nil {
				c.p.post(&report{p: c.p, kind: NeverFree, text: fmt.Sprintf("%q could not be had in %v: %s", key, 3*ttl, verdict(err))})
				return
			}
			_ = lease.Release(c.ctx) // if that fails, it expires
		}
	})
}

// report is a violation that the code under test, or what stands around it, has
// noticed.
type report struct {
	p    *process
	kind ViolationKind
	text string
}

func (r *report) order() opOrder {
	return opOrder{process: r.p.index, kind: isReport, key: string(r.kind), value: r.text}
}
func (r *report) apply(w *world) { w.check.violation(r.kind, "%s", r.text) }
