package scenarios

import (
	"fmt"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// withSetting returns a design of the library with one setting changed.
func withSetting(name, title, base string, change func(*simulation.Config)) designs.Design {
	return designs.Design{
		Name: name, Title: title, Servers: 5, Source: "this library's quorum.Config",
		Apply: func(cfg *simulation.Config) {
			design(base).Apply(cfg)
			change(cfg)
		},
	}
}

// design is one of designs.All.
func design(name string) designs.Design {
	d, err := designs.ByName(name)
	if err != nil {
		panic(err)
	}
	return d
}

// wrapped returns a design of the library whose clients use the lock in a way of their own.
func wrapped(name, title, base string, wrap func(simulation.Process, simulation.Locker) simulation.Locker) designs.Design {
	return withSetting(name, title, base, func(c *simulation.Config) {
		inner := c.Locker
		if inner == nil {
			inner = simulation.Library
		}
		c.Locker = func(p simulation.Process) (simulation.Locker, error) {
			locker, err := inner(p)
			if err != nil {
				return nil, err
			}
			return wrap(p, locker), nil
		}
	})
}

// unwatched is the library without clock monitor and quarantine, alone and with a guard:
// what fencing can do without them.
func unwatched() []designs.Design {
	off := func(c *simulation.Config) {
		c.Quorum.Lab.ClockMonitor, c.Quorum.Lab.RestartQuarantine = quorum.Off, quorum.Off
	}
	return []designs.Design{
		withSetting("unwatched", "this library without quarantine and clock monitor", "default", off),
		withSetting("unwatched-fenced", "the same, with a resource that checks the token", "token-admit", off),
	}
}

// allowance is the library with a drift allowance in percent, and without clock monitor.
func allowance(name string, percent int64) designs.Design {
	title := fmt.Sprintf("this library with a drift allowance of %d %%, and without clock monitor", percent)
	return withSetting(name, title, "default", func(c *simulation.Config) {
		c.Quorum.Lab.Drift = drift.Allowance{PPM: percent * 10_000, Floor: 2 * ms}
		c.Quorum.Lab.ClockMonitor = quorum.Off
	})
}

func keptAlive() designs.Design {
	return withSetting("kept-alive", "this library with KeepAlive", "default", func(c *simulation.Config) { c.Quorum.KeepAlive = true })
}

// runHidden is the library on servers that hide their run ID.
func runHidden(name, base, title string) designs.Design {
	return withSetting(name, title, base, func(c *simulation.Config) { c.HideRunID = true })
}
