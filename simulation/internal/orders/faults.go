package orders

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// Kinds are the kinds of faults that a walk can have.
func Kinds() []fault.Kind {
	return []fault.Kind{
		fault.Pause, fault.Crash, fault.Step, fault.Restart, fault.Failover, fault.Evict, fault.Lose, fault.Stall,
	}
}

// To learn which requests there are, the first orders of a walk are played, and if that doesn't finish the
// walk, some random orders.
const (
	firstOrders  = 20_000
	firstBeside  = 1000 // beside another fault
	randomOrders = 300
)

// singles lists every single fault of the kinds in a world. A fault has no moment, because that is
// part of the order. Steps of clocks are longer than a lease. Of each pause there are two: one ends within
// a lease, and one after it. A stall is shorter than a request's timeout. After a longer stall all requests
// time out at once, and their repetitions do too, in so many orders that no walk ends.
func singles(s Setup, kinds []fault.Kind) (simulation.Schedule, error) {
	cfg, w, err := config(s)
	if err != nil {
		return nil, err
	}
	ttl := cmp.Or(cfg.Quorum.TTL, 10*time.Second)
	long := ttl + ttl/2
	var all simulation.Schedule
	for _, kind := range kinds {
		ofProcesses := func(faults ...fault.Fault) {
			for i := range cfg.Processes {
				for _, f := range faults {
					f.Kind, f.Process = kind, fmt.Sprintf("c%d", i+1)
					all = append(all, f)
				}
			}
		}
		ofServers := func(faults ...fault.Fault) {
			for i := range cfg.Servers {
				for _, f := range faults {
					f.Kind, f.Server = kind, string(rune('A'+i))
					all = append(all, f)
				}
			}
		}
		switch kind {
		case fault.Pause:
			ofProcesses(fault.Fault{For: ttl / 2}, fault.Fault{For: long})
		case fault.Crash:
			ofProcesses(fault.Fault{})
		case fault.Step:
			ofProcesses(fault.Fault{By: long}, fault.Fault{By: -long})
			ofServers(fault.Fault{By: long}, fault.Fault{By: -long})
		case fault.Restart:
			ofServers(fault.Fault{}, fault.Fault{Keep: fault.KeepAll})
		case fault.Failover:
			ofServers(fault.Fault{By: time.Second})
		case fault.Evict:
			for _, key := range locks(w.Name) {
				ofServers(fault.Fault{Key: key})
			}
		case fault.Stall:
			all = append(all, fault.Fault{Kind: kind, For: ttl / 500})
		case fault.Lose:
			lost, err := losses(s, firstOrders)
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

// repeats reports whether a fault can happen twice in a run: the same process can be paused again, but not
// crash again.
func repeats(f fault.Fault) bool {
	return f.Kind != fault.Crash && f.Kind != fault.Lose
}

// losses lists the loss of each request and of each reply in the first orders of a Setup's walk, and, if
// these aren't all, in random ones.
func losses(s Setup, first uint64) (simulation.Schedule, error) {
	seen := map[fault.Fault]bool{}
	note := func(result simulation.Result) {
		count := map[fault.Fault]int{}
		for e := range result.Log.All() {
			if e.Kind != record.Sent || e.At < from {
				continue
			}
			f := fault.Fault{Kind: fault.Lose, At: from, Process: e.Process, Server: e.Place, Op: e.Op}
			count[f]++
			f.Nth = count[f]
			for _, f.Way = range []fault.Way{fault.Requests, fault.Replies} {
				seen[f] = true
			}
		}
	}
	var tree Tree
	order := &kernel.Order{}
	for !tree.Over && tree.Runs+tree.Cut < first {
		_, err := tree.next(func(o *kernel.Order) error {
			result, err := play(s, o)
			if err == nil {
				note(result)
			}
			return err
		}, order)
		if err != nil {
			return nil, err
		}
	}
	for seed := uint64(0); !tree.Over && seed < randomOrders; seed++ {
		result, err := play(s, &kernel.Order{Choose: kernel.DrawOrder(seed)})
		if err != nil {
			return nil, err
		}
		note(result)
	}
	all := make(simulation.Schedule, 0, len(seen))
	for f := range seen {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b fault.Fault) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Op, b.Op), a.Nth-b.Nth, cmp.Compare(a.Way, b.Way))
	})
	return all, nil
}
