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
	return search.Space{Workload: w.Workload, Design: d}.Play(search.Setup{Seed: seed, Schedule: schedule})
}
