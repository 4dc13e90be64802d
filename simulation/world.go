package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
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
	round  atomic.Uint64 // how often all goroutines were blocked

	// resting is set while the driver waits and the code under test runs. At other times
	// the driver itself may run code under test, see call.deliver.
	resting atomic.Bool
	awake   bool // a goroutine of the code under test was woken since the last settle

	inboxMu sync.Mutex
	inbox   []op
	drained []op // the inbox before, for its memory
	orders  []opOrder

	stalledUntil int64             // until then no message arrives
	chooses      bool              // the order of events is chosen, see Order
	orderEnded   bool              // its Choose has ended the run
	named        map[uint64]uint64 // how many events with a tie there were, for Option.ID

	logs    bool // servers keep logs, because something may read them
	scripts redismodel.Scripts
	reboots int // processes that have crashed and will start again

	servers   []*server
	places    []place // what processes have links to: the servers, and the aliases
	processes []*process
	resource  *resource
	// The faults that are looked up when something happens.
	links    Schedule       // by messages
	lags     Schedule       // by replication
	proxies  Schedule       // by requests to servers
	switches Schedule       // by new connections
	ofClocks Schedule       // by processes that run ahead, sorted by time
	byNth    []*byOperation // by operations
	readings *readings      // by clock readings; nil if there are none

	witness  *process
	log      record.Log
	holdings []*holding // in the order in which they were acquired
}

// place is a destination of a process's messages: a server, by one of its names.
type place struct {
	name     string
	server   *server
	database int
}

func newWorld(seed uint64, cfg Config, schedule Schedule, work Workload) *world {
	w := &world{seed: seed, cfg: cfg, work: work, awake: true, queue: make(queue, 0, 64), inbox: make([]op, 0, 32), drained: make([]op, 0, 32)}
	if cfg.Order != nil {
		cfg.Order.Steps = cfg.Order.Steps[:0]
	}
	w.scripts = redismodel.NewScripts(cfg.Scripts)
	w.logs = cfg.Replicas > 0 || cfg.WaitReplicas > 0 || slices.ContainsFunc(schedule, func(f fault.Fault) bool {
		return f.Kind == fault.Failover || f.Kind == fault.SplitBrain || f.Kind == fault.Flush || f.Kind == fault.Restart && f.Keep != fault.KeepNothing
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
	w.cfg.Horizon = cmp.Or(w.cfg.Horizon, last+10*time.Minute)
	return w
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
	w.push(w.now.Load(), draw(w.seed, tagTie, uint64(p.index)), p, moment{p.gone, func() {
		w.event(record.Started, p.name, "")
		w.awake = true
		go p.main(work)
	}})
}

// callWitness starts the last client, see Config.Witness.
func (w *world) callWitness() {
	w.witness = newProcess(w, len(w.processes), "witness")
	w.processes = append(w.processes, w.witness)
	asked := map[string]bool{}
	for e := range w.log.All() {
		if e.Kind == record.Asked {
			asked[e.Key] = true
		}
	}
	keys := slices.Sorted(maps.Keys(asked))
	w.start(w.witness, func(c *Client) {
		ttl := max(w.cfg.Quorum.MaxTTL, w.cfg.Quorum.TTL)
		for _, key := range keys {
			// Not with Acquire: how long it waits may depend on which of several replies
			// at one moment it has seen.
			var lease Lease
			var err error
			for range 30 {
				if lease, err = c.Locker.TryAcquire(c.ctx, key); err == nil {
					break
				}
				c.Sleep(ttl / 10)
			}
			if err != nil {
				c.p.report(record.NeverFree, fmt.Sprintf("%q could not be had in %v: %s", key, 3*ttl, record.ErrorName(err)))
				return
			}
			_ = lease.Release(c.ctx) // if that fails, it expires
		}
	})
}

// epoch is the wall clocks' reading at the start of a run: a time at which tokens
// that start from a clock look realistic.
const epoch = 1_767_225_600 * int64(time.Second) // 2026-01-01
