package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/record"
)

// Report is what the runs of a Space showed, from Options.From on without a gap.
type Report struct {
	Runs uint64 `json:"runs"`
	// Counts is how often each event happened that a check depends on.
	Counts map[string]int `json:"counts,omitempty"`
	// Violating is the number of runs with any violation that counts.
	Violating uint64 `json:"violating"`
	// Findings are sorted by their kinds and assumptions, and have each pair once.
	Findings []Finding `json:"findings,omitempty"`
	// Ended says that everything that was asked for was played.
	Ended bool `json:"-"`
}

// Finding is one kind of violation, with the assumption that may excuse it.
type Finding struct {
	Kind record.ViolationKind `json:"kind"`
	// Assumption is the one that a check saw broken, or else the first one that a fault before the violation had broken. 0: none excuses it.
	Assumption Assumption `json:"assumption,omitempty"`
	// Runs is how many runs showed it.
	Runs uint64 `json:"runs"`
	// Setup is the first of them, and Text is the check's description.
	Setup Setup  `json:"setup"`
	Text  string `json:"text"`
}

// run adds a run.
func (r *Report) run(s Space, setup Setup, result simulation.Result) {
	found := s.findings(setup, result)
	if s.Within {
		// A fault that is covered may break an assumption by its moment.
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Assumption != 0 })
	}
	one := Report{Runs: 1, Counts: result.Log.Counts(), Findings: found}
	if len(found) > 0 {
		one.Violating = 1
	}
	r.add(one)
}

// add adds the runs that follow.
func (r *Report) add(next Report) {
	r.Runs += next.Runs
	r.Violating += next.Violating
	if r.Counts == nil {
		r.Counts = map[string]int{}
	}
	for what, n := range next.Counts {
		r.Counts[what] += n
	}
	for _, f := range next.Findings {
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
func (s Space) findings(setup Setup, result simulation.Result) (all []Finding) {
	for _, v := range result.Log.Violations() {
		text, _, _ := strings.Cut(v.Text, "\n") // below it are stacks
		f := Finding{Kind: v.Kind, Assumption: excuse(s.config(), result, v), Runs: 1, Setup: setup, Text: text}
		if !slices.ContainsFunc(all, func(g Finding) bool { return g.Kind == f.Kind && g.Assumption == f.Assumption }) {
			all = append(all, f)
		}
	}
	return all
}

// Unreached lists events on which a check may depend and that never happened. Without them
// "nothing found" proves little.
func (r *Report) Unreached() []string {
	return slices.DeleteFunc(record.Counters(), func(what string) bool { return r.Counts[what] > 0 })
}

// Kinds lists the kinds of violations with the first finding of each,
// and how many runs showed it under any assumption.
func (r *Report) Kinds() []Finding {
	var all []Finding
	for _, f := range r.Findings {
		i := slices.IndexFunc(all, func(g Finding) bool { return f.Kind == g.Kind })
		if i < 0 {
			all = append(all, f)
			continue
		}
		runs := all[i].Runs + f.Runs
		if f.Setup.Seed < all[i].Setup.Seed {
			all[i] = f
		}
		all[i].Runs = runs
	}
	return all
}
