package command

import (
	"reflect"
	"slices"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

// registry returns the names for explore, exhaust, orders, shrink and replay: the explorations,
// the worlds of package orders, the scenarios' workloads by ID, and the designs.
func registry() search.Registry {
	r := search.Registry{Workloads: slices.Concat(search.Workloads(), orders.Worlds()), Designs: designs.All()}
	for _, s := range scenarios.All() {
		r.Workloads = append(r.Workloads, workload(s))
	}
	return r
}

// whole reports whether a design is the full library. Only that makes its promises.
func whole(d designs.Design) bool {
	cfg := d.Configure(simulation.Config{})
	return d.Group == designs.Redlock && cfg.Locker == nil &&
		cfg.Quorum.RestartQuarantine == quorum.On && cfg.Quorum.ClockMonitor == quorum.On && cfg.Quorum.Fencing == quorum.On
}

// workload returns a scenario as a workload. Its checks of progress hold only for its own
// schedule, because other faults may legitimately block the lock.
func workload(s scenarios.Scenario) search.Workload {
	return search.Workload{
		Name: s.ID, Title: s.Title, Base: s.Base,
		Work: func(simulation.Config, int) simulation.Workload { return s.Work },
		Judge: func(setup search.Setup, r simulation.Result) simulation.Result {
			d, err := s.Design(setup.Design)
			if err != nil {
				return r // the scenario has no verdict for this design
			}
			if _, own := s.Setting(d); !reflect.DeepEqual(setup.Schedule, own) {
				return r
			}
			return s.Judge(r)
		},
		Designs: s.Variants,
	}
}
