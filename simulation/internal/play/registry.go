package play

import (
	"reflect"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

// Registry has the scenarios' workloads by ID, those of the matrix's faults by name, and the
// designs: what a replay file of a Setup names.
func Registry() search.Registry {
	r := search.Registry{Designs: designs.All()}
	for _, s := range scenarios.All() {
		r.Workloads = append(r.Workloads, workload(s))
	}
	for _, f := range cells.Faults() {
		r.Workloads = append(r.Workloads, search.Workload{Name: f.Name, Title: f.Title, Base: f.Base(), Work: func(cfg simulation.Config, _ int) simulation.Workload { return f.Work(cfg) }})
	}
	return r
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
