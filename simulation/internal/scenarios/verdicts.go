package scenarios

import (
	"slices"

	"github.com/redquorum/redlock/simulation"
)

// The designs in groups that mostly fare alike.
var (
	// unguarded use one server, and give their keys a TTL.
	unguarded = []string{"setnx-expire", "setpx-del", "setpx-cad", "replica-async", "wait-some", "semisync", "tair-cas"}
	// late are those of them whose validity counts from the last answer, that of SET NX
	// PX: nobody counts how long it took.
	late = []string{"setpx-del", "setpx-cad", "tair-cas", "replica-async", "wait-late", "semisync"}
	// voting use five servers, and a resource that looks at nothing.
	voting = []string{"redlock", "quarantine", "monitor", "topup", "default"}
	// watching are those of them that watch the servers' clocks, and their
	// restarts.
	watching = []string{"monitor", "topup", "default"}
	// fenced are the library with all that it has, and a resource that looks at
	// the token.
	fenced = []string{"token-write", "token-admit", "idempotent"}
)

func group(groups ...[]string) []string { return slices.Concat(groups...) }

// verdicts is Scenario.Verdicts in the making.
type verdicts map[string]Verdict

// expect begins with one verdict for some designs.
func expect(v Verdict, names ...string) verdicts { return verdicts{}.and(v, names...) }

// and adds a verdict. A name that has one already keeps the later.
func (vs verdicts) and(v Verdict, names ...string) verdicts {
	for _, name := range names {
		vs[name] = v
	}
	return vs
}

// none: nothing goes wrong.
var none Verdict

// breaks: in every run these kinds, and no others.
func breaks(kinds ...simulation.ViolationKind) Verdict {
	slices.Sort(kinds)
	return Verdict{Kinds: kinds}
}

// reaching is the same verdict with more that must have happened.
func (v Verdict) reaching(what ...string) Verdict {
	v.Reached = slices.Concat(v.Reached, what)
	return v
}

// without is the same verdict with more that mustn't happen.
func (v Verdict) without(what ...string) Verdict {
	v.Never = slices.Concat(v.Never, what)
	return v
}
