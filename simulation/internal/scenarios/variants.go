package scenarios

import (
	"fmt"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// withSetting returns one of designs.All with one setting changed.
func withSetting(name, title, base string, change func(*simulation.Config)) designs.Design {
	d, err := designs.ByName(base)
	if err != nil {
		panic(err)
	}
	return designs.Design{
		Name: name, Title: title, Servers: d.Servers, Source: base + " with one change",
		Apply: func(cfg *simulation.Config) {
			d.Apply(cfg)
			change(cfg)
		},
	}
}

// allowance is the library with a drift allowance in percent, and without clock monitor.
func allowance(name string, percent int64) designs.Design {
	title := fmt.Sprintf("this library with a drift allowance of %d %%, and without clock monitor", percent)
	return withSetting(name, title, "quarantine", func(c *simulation.Config) {
		c.Quorum.Lab.Drift = drift.Allowance{PPM: percent * 10_000, Floor: 2 * ms}
	})
}
