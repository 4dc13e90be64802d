package scenarios

import (
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/record"
)

// Groups of designs with mostly the same results.
const (
	// unguarded use one server, and keys with a TTL.
	unguarded = "setnx-expire setpx-del setpx-cad replica-async wait-some semisync tair-cas"
	// late count the validity from the reply to SET NX PX: nobody counts how long that
	// took.
	late = "setpx-del setpx-cad tair-cas replica-async semisync"
	// voting use five servers, and a resource without a guard.
	voting = "redlock topup default"
	// fenced are this library and a resource that checks the token.
	fenced = "token-write token-admit idempotent"
	// complete are this library, and library adds KeepAlive.
	complete = "default " + fenced
	library  = "topup " + complete
)

// verdicts builds Scenario.Verdicts. Designs are names separated by spaces.
type verdicts map[string]Verdict

func expect(v Verdict, designs ...string) verdicts { return verdicts{}.and(v, designs...) }

// and adds a verdict. The last one of a design counts.
func (vs verdicts) and(v Verdict, designs ...string) verdicts {
	for name := range strings.FieldsSeq(strings.Join(designs, " ")) {
		vs[name] = v
	}
	return vs
}

// none: no violation.
var none Verdict

// breaks: every run has violations of these kinds, and no others.
func breaks(kinds ...record.ViolationKind) Verdict {
	slices.Sort(kinds)
	return Verdict{Kinds: kinds}
}

// reaching returns the verdict with more events that must happen.
func (v Verdict) reaching(events ...string) Verdict {
	v.Reached = slices.Concat(v.Reached, events)
	return v
}

// without returns the verdict with more events that must not happen.
func (v Verdict) without(events ...string) Verdict {
	v.Never = slices.Concat(v.Never, events)
	return v
}
