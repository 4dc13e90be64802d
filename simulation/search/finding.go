package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/record"
)

// Finding is one kind of violation, with the assumption that may excuse it.
type Finding struct {
	Kind record.ViolationKind `json:"kind"`
	// Assumption is the one that a check saw broken, or else the first one that a fault before the violation had broken. 0: none excuses it.
	Assumption Assumption `json:"assumption,omitempty"`
	// Runs is how many runs showed it.
	Runs uint64 `json:"runs"`
	// First is the number of the first of them, Setup is that run, and Text is the check's
	// description.
	First uint64 `json:"first"`
	Setup Setup  `json:"setup"`
	Text  string `json:"text"`
}

// Findings are sorted by their kinds and assumptions, and have each pair once.
type Findings []Finding

// Add takes in another run's finding. The one with the lowest number stays the first.
func (all *Findings) Add(f Finding) {
	at, known := slices.BinarySearchFunc(*all, f, func(f, g Finding) int {
		return cmp.Or(cmp.Compare(f.Kind, g.Kind), cmp.Compare(f.Assumption, g.Assumption))
	})
	if !known {
		*all = slices.Insert(*all, at, f)
		return
	}
	old := &(*all)[at]
	runs := old.Runs + f.Runs
	if f.First < old.First {
		*old = f
	}
	old.Runs = runs
}

// Findings is what the checks found in the run of a Setup that is number n.
//
// All errors are ErrSetup.
func (r Registry) Findings(n uint64, s Setup, result simulation.Result) (Findings, error) {
	p, err := r.prepare(s)
	if err != nil {
		return nil, err
	}
	return p.findings(n, s, result), nil
}

func (p run) findings(n uint64, s Setup, result simulation.Result) Findings {
	var all Findings
	for _, v := range result.Log.Violations() {
		text, _, _ := strings.Cut(v.Text, "\n") // below it are stacks
		f := Finding{Kind: v.Kind, Assumption: p.excuse(result, v), Runs: 1, First: n, Setup: s, Text: text}
		if !slices.ContainsFunc(all, func(g Finding) bool { return g.Kind == f.Kind && g.Assumption == f.Assumption }) {
			all.Add(f)
		}
	}
	return all
}

// unexcused are the kinds of violations that no fault excuses.
var unexcused = []record.ViolationKind{record.LeftOver, record.Stuck, record.Panicked, record.Unsimulated, record.KeyLeft}

// excuse is the broken assumption that a violation may be due to: the one that the check saw, or
// else the first one that a fault before it had broken. 0: there is none.
func (p run) excuse(result simulation.Result, v record.Violation) Assumption {
	switch {
	case v.Assumption != 0:
		return Assumption(v.Assumption)
	case slices.Contains(unexcused, v.Kind):
		return 0
	}
	var struck simulation.Schedule
	for e := range result.Log.All() {
		// By the order of events: many of them can happen at one moment.
		if e.Kind == record.Found && *e.Violation == v {
			break
		}
		if e.Kind == record.Suffered && !slices.Contains(struck, *e.Fault) {
			struck = append(struck, *e.Fault)
		}
	}
	return broken(struck, p.cfg)
}

// observed is the number of the assumption that the checks saw broken in all violations of a
// kind, which the run has. 0: in one of them they saw none.
func observed(r simulation.Result, kind record.ViolationKind) int {
	least := len(assumptions)
	for _, v := range r.Log.Violations() {
		if v.Kind == kind {
			least = min(least, v.Assumption)
		}
	}
	return least
}
