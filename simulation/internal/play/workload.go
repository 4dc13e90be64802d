package play

import (
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/search"
)

// workload is a workload of package search as a base. It has no faults of its own: the command explore
// draws them.
type workload struct{ search.Workload }

// Play plays the workload without faults.
func (w workload) Play(seed uint64, d designs.Design) (simulation.Result, error) {
	return w.PlaySchedule(seed, d, nil)
}

// PlaySchedule plays the workload with faults.
func (w workload) PlaySchedule(seed uint64, d designs.Design, schedule simulation.Schedule) (simulation.Result, error) {
	r := search.Registry{Workloads: []search.Workload{w.Workload}, Designs: []designs.Design{d}}
	return r.Play(search.Setup{Workload: w.Name, Design: d.Name, Seed: seed, Schedule: schedule})
}
