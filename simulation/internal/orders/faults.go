package orders

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/search"
)

// Kinds are the kinds of faults that a walk can have.
func Kinds() []simulation.Kind {
	return []simulation.Kind{
		simulation.Pause, simulation.Crash, simulation.Step, simulation.Restart, simulation.Failover, simulation.Evict, simulation.Lose, simulation.Stall,
	}
}

// samples is the number of random runs that are played to learn which requests there are.
const samples = 300

// singles lists every single fault of the kinds in a world. A fault has no moment, because that is
// part of the order. Pauses and steps of clocks are longer than a lease. A stall is shorter than a
// request's timeout. After a longer stall all requests time out at once, and their repetitions do
// too, in so many orders that no walk ends.
func singles(r search.Registry, s search.Setup, kinds []simulation.Kind) (simulation.Schedule, error) {
	w, err := r.Workload(s.Workload)
	if err != nil {
		return nil, err
	}
	d, err := r.Design(w, s.Design)
	if err != nil {
		return nil, err
	}
	cfg := d.Configure(w.Base)
	ttl := cmp.Or(cfg.Quorum.TTL, 10*time.Second)
	long := ttl + ttl/2
	processes, servers := cmp.Or(deref(s.Changes.Processes), cfg.Processes), cmp.Or(deref(s.Changes.Servers), cfg.Servers)
	var all simulation.Schedule
	each := func(n int, name func(int) string, add func(name string)) {
		for i := range n {
			add(name(i))
		}
	}
	process := func(i int) string { return fmt.Sprintf("c%d", i+1) }
	server := func(i int) string { return string(rune('A' + i)) }
	for _, kind := range kinds {
		switch kind {
		case simulation.Pause, simulation.Crash:
			each(processes, process, func(p string) {
				f := simulation.Fault{Kind: kind, Process: p}
				if kind == simulation.Pause {
					f.For = long
				}
				all = append(all, f)
			})
		case simulation.Step:
			each(processes, process, func(p string) {
				all = append(all, simulation.Fault{Kind: kind, Process: p, By: long}, simulation.Fault{Kind: kind, Process: p, By: -long})
			})
			each(servers, server, func(s string) {
				all = append(all, simulation.Fault{Kind: kind, Server: s, By: long}, simulation.Fault{Kind: kind, Server: s, By: -long})
			})
		case simulation.Restart:
			each(servers, server, func(s string) {
				all = append(all, simulation.Fault{Kind: kind, Server: s}, simulation.Fault{Kind: kind, Server: s, Keep: simulation.KeepAll})
			})
		case simulation.Failover:
			each(servers, server, func(s string) {
				all = append(all, simulation.Fault{Kind: kind, Server: s, By: time.Second})
			})
		case simulation.Evict:
			each(servers, server, func(s string) {
				all = append(all, simulation.Fault{Kind: kind, Server: s, Key: "k"})
			})
		case simulation.Stall:
			all = append(all, simulation.Fault{Kind: kind, For: ttl / 500})
		case simulation.Lose:
			lost, err := losses(r, s)
			if err != nil {
				return nil, err
			}
			all = append(all, lost...)
		default:
			return nil, fmt.Errorf("%w: no fault %q can be at every moment of an order; there are %v", search.ErrSetup, kind, Kinds())
		}
	}
	return all, nil
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// losses lists the loss of each request and of each reply that occurs in random orders.
func losses(r search.Registry, s search.Setup) (simulation.Schedule, error) {
	seen := map[simulation.Fault]bool{}
	for seed := range uint64(samples) {
		result, err := r.PlayOrder(s, &simulation.Order{Choose: simulation.DrawOrder(seed)})
		if err != nil {
			return nil, err
		}
		count := map[simulation.Fault]int{}
		for e := range result.Log.All() {
			if e.Kind != simulation.Sent || e.At < from {
				continue
			}
			f := simulation.Fault{Kind: simulation.Lose, At: from, Process: e.Process, Server: e.Place, Op: e.Op}
			count[f]++
			f.Nth = count[f]
			for _, f.Way = range []simulation.Way{simulation.Requests, simulation.Replies} {
				seen[f] = true
			}
		}
	}
	all := make(simulation.Schedule, 0, len(seen))
	for f := range seen {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b simulation.Fault) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Op, b.Op), a.Nth-b.Nth, cmp.Compare(a.Way, b.Way))
	})
	return all, nil
}
