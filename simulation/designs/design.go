package designs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation"
)

// Group is a part of the table of designs.
type Group string

// The groups, in their order.
const (
	// OneServer is a lock on one Redis server, as articles teach it.
	OneServer Group = "one server"
	// Replicated is the same on a master with replicas, one of which takes over
	// when it fails.
	Replicated Group = "one server with replicas"
	// Redlock is the Redis document's algorithm, and this library with one safety
	// feature after the other switched on.
	Redlock Group = "redlock"
	// Tokens is about where fencing tokens come from, and what is done with them.
	Tokens Group = "fencing tokens"
	// Flaws is what other implementations and set-ups do differently.
	Flaws Group = "flaws"
)

// Design is one way to lock, as a run can be played with it.
type Design struct {
	// Name is short and unique: letters, digits and dashes.
	Name string
	// Title says in words what it is.
	Title string
	Group Group
	// Source is where it is taught, used or reported.
	Source string
	// Promises is what its users expect.
	Promises string
	// Breaks is what breaks it. Scenario numbers are those of package simulation.
	Breaks string
	// Cure names the design that differs from this one only in the flaw, "" if this
	// design isn't about a flaw.
	Cure string
	// Servers is how many of a run's servers it uses: 1 or 5. A design for 5 works
	// on any number.
	Servers int
	// Apply changes a Config so that the run's processes lock in this way: Locker,
	// Guard, the library's switches and what the servers' replicas do. What it
	// doesn't set it leaves alone, so that a scenario's own settings stay.
	Apply func(*simulation.Config)
}

// Configure gives cfg with the design applied. cfg stays as it was.
func (d Design) Configure(cfg simulation.Config) simulation.Config {
	d.Apply(&cfg)
	return cfg
}

// ErrUnknown is wrapped by the error for a name that no design has.
var ErrUnknown = errors.New("designs: no such design")

// All is every design, in the order of the table's rows.
func All() []Design {
	return slices.Concat(oneServer(), replicated(), redlocks(), tokens(), flaws(), Registered())
}

// LockBy makes a Config's processes lock by a Locker of your own, before a resource that
// looks at nothing. It is what Design.Apply is for a design that is no Recipe.
func LockBy(locker func(simulation.Process) (simulation.Locker, error)) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Guard, cfg.Locker = simulation.Unguarded, locker }
}

// ByName gives the design of that name, or an error that Is ErrUnknown and lists
// the names.
func ByName(name string) (Design, error) {
	all := All()
	if i := slices.IndexFunc(all, func(d Design) bool { return d.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	return Design{}, fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, strings.Join(names, ", "))
}
