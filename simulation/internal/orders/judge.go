package orders

import (
	"sync"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/check"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/machine"
	"github.com/redquorum/redlock/simulation/record"
)

// withTokens are the names of the designs that are the library with its tokens: others aren't meant
// to be the machine.
var withTokens = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, d := range designs.All() {
		cfg := d.Configure(simulation.Config{})
		names[d.Name] = cfg.Locker == nil && cfg.Quorum.Lab.Fencing == quorum.On
	}
	return names
})

// judge adds what only runs of these worlds are checked for: keys that stay, and steps that aren't the
// abstract machine's.
func judge(design string, r simulation.Result) simulation.Result {
	found := check.KeysLeft(r.Log, r.Ended, quiet)
	if withTokens()[design] {
		if err := machine.Check(r.Log); err != nil {
			found = append(found, record.Violation{Kind: record.NoStep, At: r.Ended, Text: err.Error()})
		}
	}
	for _, v := range found {
		r = r.With(v)
	}
	return r
}
