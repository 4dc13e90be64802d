package orders

import (
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/machine"
	"github.com/redquorum/redlock/simulation/search"
)

// NoStep is the violation of a run that isn't a run of the abstract machine.
const NoStep simulation.ViolationKind = "no step of the machine"

// compared compares a run with the abstract machine, and adds a violation if it isn't a run of the
// machine. It compares only runs of the library with its tokens, because the machine describes no other.
func compared(s search.Setup, r simulation.Result) simulation.Result {
	d, err := designs.ByName(s.Design)
	if err != nil {
		return r // only the registry knows this design
	}
	if cfg := d.Configure(simulation.Config{}); cfg.Locker != nil || cfg.Quorum.Fencing != quorum.On {
		return r
	}
	if err := machine.Check(r.Log); err != nil {
		return r.With(simulation.Violation{Kind: NoStep, At: r.Ended, Text: err.Error()})
	}
	return r
}
