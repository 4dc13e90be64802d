package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/simulation/record"
)

// newWorld makes the world of a run, with everything that is due at its start.
func newWorld(seed uint64, cfg Config, schedule Schedule, work Workload) *world {
	w := &world{cfg: cfg, work: work, names: cfg.serverNames(), letters: map[string]*[]string{}}
	w.Seed, w.Awake = seed, true
	for i, name := range w.names {
		s := newServer(w, i, name)
		mark := memory.NewMark(*s.identity(), time.Unix(0, s.started), "") // as if its clients had known it since it started
		s.change(func(s *server) { s.mark = mark })
		w.servers = append(w.servers, s)
	}
	w.resource = newResource(w)
	for i, name := range cfg.processNames() {
		p := newProcess(w, i, name, nil)
		w.processes = append(w.processes, p)
		p.start(work)
	}
	last := time.Duration(0)
	for _, f := range schedule {
		w.plan(f)
		last = max(last, f.At+f.For)
	}
	w.cfg.Horizon = cmp.Or(w.cfg.Horizon, last+10*time.Minute)
	return w
}

// drive plays the run to its end. Each event wakes at most one goroutine. The next event
// waits until all goroutines are blocked again.
func (w *world) drive() {
	for {
		w.Settle()
		e, ok := w.Next()
		switch {
		case ok && time.Duration(e.At) > w.cfg.Horizon:
			w.stuck(fmt.Sprintf("not ended after %v of virtual time", w.cfg.Horizon))
		case ok && w.events >= w.cfg.MaxEvents:
			w.stuck(fmt.Sprintf("not ended after %d events", w.events))
		case ok:
			w.Now.Store(e.At)
			w.events++
			e.Do()
			continue
		case len(w.running()) > 0:
			w.stuck("nothing is left that could wake them")
		case w.cfg.Witness && w.witness == nil:
			w.callWitness()
			continue
		default:
			return
		}
		break
	}
	for _, p := range w.processes {
		p.crash()
	}
	w.Settle() // remaining goroutines are found when the bubble ends
}

// stuck reports that processes don't end, with all goroutines.
func (w *world) stuck(why string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	w.violation(record.Stuck, "%s: %s\n%s", strings.Join(w.running(), ", "), why, stacks)
}

// callWitness starts the last client, see Config.Witness.
func (w *world) callWitness() {
	w.witness = newProcess(w, len(w.processes), "witness", nil)
	w.processes = append(w.processes, w.witness)
	asked := map[string]bool{}
	for e := range w.log.All() {
		if e.Kind == record.Asked {
			asked[e.Key] = true
		}
	}
	keys := slices.Sorted(maps.Keys(asked))
	w.witness.start(func(c *Client) {
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
