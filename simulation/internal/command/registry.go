package command

import (
	"slices"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/search"
)

// registry returns the names for explore, orders and replay: the explorations,
// the worlds of package orders, and those of play.Registry.
func registry() search.Registry {
	r := play.Registry()
	r.Workloads = slices.Concat(search.Workloads(), orders.Worlds(), r.Workloads)
	return r
}

// whole reports whether a design is the full library. Only that makes its promises.
func whole(d designs.Design) bool {
	cfg := d.Configure(simulation.Config{})
	return d.Group == designs.Redlock && cfg.Locker == nil &&
		cfg.Quorum.RestartQuarantine == quorum.On && cfg.Quorum.ClockMonitor == quorum.On && cfg.Quorum.Fencing == quorum.On
}
