package orders

import (
	"sync"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/machine"
	"github.com/redquorum/redlock/simulation/search"
)

// withTokens are the names of the designs that are the library with its tokens: others aren't meant
// to be the machine.
var withTokens = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, d := range designs.All() {
		cfg := d.Configure(simulation.Config{})
		names[d.Name] = cfg.Locker == nil && cfg.Quorum.Fencing == quorum.On
	}
	return names
})

// compared compares a run with the abstract machine, and adds a violation if it isn't one of the
// machine's.
func compared(s search.Setup, r simulation.Result) simulation.Result {
	if !withTokens()[s.Design] {
		return r
	}
	if err := machine.Check(r.Log); err != nil {
		return r.With(simulation.Violation{Kind: simulation.NoStep, At: r.Ended, Text: err.Error()})
	}
	return r
}
