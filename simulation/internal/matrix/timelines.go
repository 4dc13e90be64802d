package matrix

import (
	"errors"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// Timelines plays the first run of each violated cell again.
func (r Result) Timelines() ([]report.TimelineRun, error) {
	var all []report.TimelineRun
	for _, fault := range r.Plan.Faults {
		for _, design := range r.Plan.Designs {
			sum := r.of(fault, design)
			if sum.Violated.Runs == 0 {
				continue
			}
			f, noFault := cells.ByName(fault)
			d, noDesign := designs.ByName(design)
			if err := errors.Join(noFault, noDesign); err != nil {
				return nil, err
			}
			result, err := f.Play(sum.Violated.First, d)
			if err != nil {
				return nil, err
			}
			run := report.TimelineRun{Design: design, Fault: fault, Log: result.Log}
			for _, kind := range result.Kinds() {
				if cells.Harms(d, kind) {
					run.Kinds = append(run.Kinds, string(kind))
				}
			}
			all = append(all, run)
		}
	}
	return all, nil
}
