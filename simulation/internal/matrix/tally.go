package matrix

import (
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/record"
)

// name is a cell's.
type name struct{ fault, design string }

// job is some seeds of a cell.
type job struct {
	fault    cells.Fault
	design   designs.Design
	from, to uint64
}

func (j job) cell() name { return name{j.fault.Name, j.design.Name} }

// tally is what was found in some runs of a cell.
type tally struct {
	report.Cell
	// Counts is how often each event happened that a check depends on.
	Counts map[string]int `json:"counts"`
	// Surprises is the number of runs that broke the lock in an unexpected way. Surprise says what the first
	// of them, with the seed SurpriseSeed, had.
	Surprises    int    `json:"surprises,omitempty"`
	Surprise     string `json:"surprise,omitempty"`
	SurpriseSeed uint64 `json:"surprise_seed,omitempty"`
}

func newTally() tally {
	return tally{Cell: report.Cell{Kinds: map[string]int{}, First: map[string]uint64{}}, Counts: map[string]int{}}
}

// play plays the job.
func (j job) play() (tally, error) {
	sum := newTally()
	for seed := j.from; seed < j.to; seed++ {
		r, err := j.fault.Play(seed, j.design)
		if err != nil {
			return sum, err
		}
		sum.add(j.run(seed, r))
	}
	return sum, nil
}

// run is the tally of one run.
func (j job) run(seed uint64, r simulation.Result) tally {
	t := newTally()
	t.Runs, t.Counts = 1, r.Log.Counts()
	for _, kind := range r.Kinds() {
		if cells.Harms(j.design, kind) {
			t.Violated, t.Seed = 1, seed
			t.Kinds[string(kind)], t.First[string(kind)] = 1, seed
		}
	}
	if t.Counts[record.LongerThanKept] > 0 {
		t.Overvalued = 1
	}
	if want, known := cells.ExpectationOf(j.fault.Name, j.design.Name); known {
		if err := want.Check(r, j.design); err != nil {
			t.Surprises, t.Surprise, t.SurpriseSeed = 1, err.Error(), seed
		}
	}
	return t
}

// add adds runs with later seeds.
func (t *tally) add(u tally) {
	if t.Violated == 0 {
		t.Seed = u.Seed
	}
	if t.Surprises == 0 {
		t.Surprise, t.SurpriseSeed = u.Surprise, u.SurpriseSeed
	}
	t.Runs += u.Runs
	t.Violated += u.Violated
	t.Overvalued += u.Overvalued
	t.Surprises += u.Surprises
	for kind, n := range u.Kinds {
		if t.Kinds[kind] == 0 {
			t.First[kind] = u.First[kind]
		}
		t.Kinds[kind] += n
	}
	for what, n := range u.Counts {
		t.Counts[what] += n
	}
}
