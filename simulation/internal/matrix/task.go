package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/record"
)

// task is the cell that some runs are of, as plain data.
type task struct {
	Fault  string `json:"fault"`
	Design string `json:"design"`
}

func (t task) String() string { return t.Fault + " with " + t.Design }

// job is some seeds of a task.
type job struct {
	task
	from, to uint64
}

func (j job) String() string { return fmt.Sprintf("%s, seeds from %d", j.task, j.from) }

// play plays the job.
func (j job) play() (sum tally, err error) {
	for seed := j.from; seed < j.to && err == nil; seed++ {
		err = j.task.play(seed, &sum)
	}
	return sum, err
}

// found counts the runs with a finding.
type found struct {
	Runs  int    `json:"runs"`
	First uint64 `json:"first"` // the first seed
}

// tally is the result of runs. Tallies can be added in any order.
type tally struct {
	Runs     int   `json:"runs"`
	Events   int   `json:"events"`
	Violated found `json:"violated"` // runs with any violation that counts
	// Broken is the number of runs that broke a promise of the design.
	Broken int `json:"broken,omitempty"`
	// Overvalued is the number of runs with a lease whose validity was too long.
	Overvalued int `json:"overvalued,omitempty"`
	// Kinds counts the runs with each kind of violation, whether it counts or not.
	Kinds map[record.ViolationKind]found `json:"kinds,omitempty"`
	// Counts is how often each event happened that a check depends on.
	Counts map[string]int `json:"counts,omitempty"`
}

func (f *found) add(g found) {
	if g.Runs == 0 {
		return
	}
	if f.Runs == 0 || g.First < f.First {
		f.First = g.First
	}
	f.Runs += g.Runs
}

func (t *tally) add(u tally) {
	t.Runs += u.Runs
	t.Events += u.Events
	t.Broken += u.Broken
	t.Overvalued += u.Overvalued
	t.Violated.add(u.Violated)
	for kind, f := range u.Kinds {
		t.find(kind, f)
	}
	if t.Counts == nil && len(u.Counts) > 0 {
		t.Counts = maps.Clone(u.Counts)
		return
	}
	for what, n := range u.Counts {
		t.Counts[what] += n
	}
}

func (t *tally) find(kind record.ViolationKind, f found) {
	if t.Kinds == nil {
		t.Kinds = map[record.ViolationKind]found{}
	}
	sum := t.Kinds[kind]
	sum.add(f)
	t.Kinds[kind] = sum
}

// run adds one run. counts says which kinds of violations count.
func (t *tally) run(seed uint64, r simulation.Result, counts func(record.ViolationKind) bool) {
	t.Runs++
	t.Events += r.Events
	if t.Counts == nil {
		t.Counts = map[string]int{}
	}
	happened := r.Log.Counts()
	for what, n := range happened {
		t.Counts[what] += n
	}
	if happened[record.LongerThanKept] > 0 {
		t.Overvalued++
	}
	violated := found{}
	for _, v := range r.Log.Violations() {
		if counts(v.Kind) && violated.Runs == 0 {
			violated = found{Runs: 1, First: seed}
		}
	}
	t.Violated.add(violated)
	for _, kind := range r.Kinds() {
		t.find(kind, found{Runs: 1, First: seed})
	}
}

// play plays one seed of a task.
func (t task) play(seed uint64, sum *tally) error {
	f, err := cells.ByName(t.Fault)
	if err != nil {
		return err
	}
	d, err := designs.ByName(t.Design)
	if err != nil {
		return err
	}
	r, err := f.Play(seed, d)
	if err != nil {
		return err
	}
	sum.run(seed, r, func(kind record.ViolationKind) bool { return cells.Harms(d, kind) })
	if slices.ContainsFunc(r.Kinds(), func(kind record.ViolationKind) bool { return cells.Promised(d, kind) }) {
		sum.Broken++
	}
	return nil
}

// command repeats a run of a fault or a scenario, with its timeline.
func command(name, design string, seed uint64) string {
	return fmt.Sprintf("redlocksim run %s -design %s -seed %d", name, design, seed)
}
