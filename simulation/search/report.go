package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// Report is what the runs of a Space showed, from seed 0 on without a gap.
type Report struct {
	Runs uint64
	// Struck is how often each kind of fault struck. Of a kind that never did, the runs say nothing.
	Struck map[fault.Kind]int
	// Violating is the number of runs with any violation that counts.
	Violating uint64
	// Findings are sorted by their kinds and assumptions, and have each pair once.
	Findings []Finding
}

// Finding is one kind of violation, with the assumption that may excuse it.
type Finding struct {
	Kind record.ViolationKind
	// Assumption is the one that a check saw broken, or else the first one that a fault before the violation had
	// broken. 0: none excuses it.
	Assumption Assumption
	// Observed is the Assumption if a check saw it broken, and 0 otherwise.
	Observed Assumption
	// Runs is how many runs showed it.
	Runs uint64
	// Seed and Schedule are the first of them, and Text is the check's description.
	Seed     uint64
	Schedule simulation.Schedule
	Text     string
}

// report is what one run showed.
func (s Space) report(seed uint64, schedule simulation.Schedule, result simulation.Result) Report {
	r := Report{Runs: 1, Struck: map[fault.Kind]int{}, Findings: s.findings(seed, schedule, result)}
	for e := range result.Log.All() {
		if e.Kind == record.Suffered {
			r.Struck[e.Fault.Kind]++
		}
	}
	if s.Within {
		// A fault that is covered may break an assumption by its moment.
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Assumption != 0 })
	}
	if len(r.Findings) > 0 {
		r.Violating = 1
	}
	return r
}

// add adds runs with later seeds.
func (r *Report) add(u Report) {
	r.Runs += u.Runs
	r.Violating += u.Violating
	for kind, n := range u.Struck {
		r.Struck[kind] += n
	}
	for _, f := range u.Findings {
		at, known := slices.BinarySearchFunc(r.Findings, f, func(f, g Finding) int {
			return cmp.Or(cmp.Compare(f.Kind, g.Kind), cmp.Compare(f.Assumption, g.Assumption))
		})
		if known {
			r.Findings[at].Runs += f.Runs
		} else {
			r.Findings = slices.Insert(r.Findings, at, f)
		}
	}
}

// findings is what the checks found in a run.
func (s Space) findings(seed uint64, schedule simulation.Schedule, result simulation.Result) (all []Finding) {
	for _, v := range result.Log.Violations() {
		text, _, _ := strings.Cut(v.Text, "\n") // below it are stacks
		f := Finding{v.Kind, excuse(s.config(), result, v), Assumption(v.Assumption), 1, seed, schedule, text}
		if !slices.ContainsFunc(all, func(g Finding) bool { return g.Kind == f.Kind && g.Assumption == f.Assumption }) {
			all = append(all, f)
		}
	}
	return all
}
