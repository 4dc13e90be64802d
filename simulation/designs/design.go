package designs

import (
	"github.com/redquorum/redlock/simulation"
)

// Group is a section of the table of designs.
type Group string

// The groups, in their order.
const (
	// OneServer is a lock on one Redis server, as in articles.
	OneServer Group = "one server"
	// Replicated is the same on a master with replicas, one of which takes over after a
	// failure.
	Replicated Group = "one server with replicas"
	// Redlock is the Redis document's algorithm, and this library.
	Redlock Group = "redlock"
	// Tokens is about the source and the use of fencing tokens.
	Tokens Group = "fencing tokens"
	// Flaws are differences of other implementations and deployments.
	Flaws Group = "flaws"
	// Yours are registered designs.
	Yours Group = "yours"
)

// Design is one way to lock.
type Design struct {
	// Name is short and unique: letters, digits and dashes.
	Name  string
	Title string
	Group Group
	// Source is where it is described, used or reported.
	Source string
	// Breaks is what breaks it, with the IDs of scenarios.
	Breaks string
	// Servers is the number of servers that it uses: 1 or 5. A design for 5 works with any
	// number.
	Servers int
	// Apply configures processes to lock in this way: Locker, Guard, the library's switches
	// and the replicas. Other settings stay.
	Apply func(*simulation.Config)
}

// Configure returns cfg with the design applied, and does not change cfg.
func (d Design) Configure(cfg simulation.Config) simulation.Config {
	d.Apply(&cfg)
	return cfg
}

// Fenced reports whether the design's resource checks tokens.
func (d Design) Fenced() bool { return d.Configure(simulation.Config{}).Guard.Tokens() }

// LockBy returns the Apply of a design with a Locker of its own, and a resource without a guard.
func LockBy(locker func(simulation.Process) (simulation.Locker, error)) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Guard, cfg.Locker = simulation.Unguarded, locker }
}
