package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// newWorld makes the world of a run, with everything that is due at its start.
func newWorld(seed uint64, cfg Config, schedule Schedule, work Workload) *world {
	w := &world{cfg: cfg, work: work}
	w.Init(seed)
	w.scripts = redismodel.NewScripts(cfg.Scripts)
	w.logs = cfg.Replicas > 0 || cfg.WaitReplicas > 0 || slices.ContainsFunc(schedule, func(f fault.Fault) bool {
		return f.Kind == fault.Failover || f.Kind == fault.SplitBrain || f.Kind == fault.Restart && f.Keep != fault.KeepNothing
	})
	for i, name := range cfg.serverNames() {
		s := newServer(w, i, name)
		s.setMark(memory.NewMark(*s.identity(), time.Unix(0, s.started), "")) // as if its clients had known it since it started
		w.servers = append(w.servers, s)
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
