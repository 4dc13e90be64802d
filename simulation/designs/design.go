package designs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/byname"
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

// Errors of this package.
var (
	// ErrUnknown: there is no such design.
	ErrUnknown = byname.ErrUnknown
	// ErrRegister: a Design can't be registered.
	ErrRegister = errors.New("designs: can't be registered")
)

// registered are the registered designs. Nothing changes them once runs have begun.
var registered []Design

// All returns every design, in the order of the table.
func All() []Design {
	return append(table(), registered...)
}

// ByName returns the design with the name. The error Is ErrUnknown and lists the names.
func ByName(name string) (Design, error) {
	return byname.Find("design", name, All(), func(d Design) string { return d.Name })
}

// validName matches words of small letters and digits, with dashes between.
var validName = regexp.MustCompile("^[a-z0-9]+(-[a-z0-9]+)*$")

// Register adds a design of your own to All, in the group Yours. It needs a unique Name, and Apply. Servers is 5
// unless it is 1, and Title is the Name by default. Call Register before any run.
func Register(d Design) error {
	if d.Servers != 1 {
		d.Servers = 5
	}
	d.Title, d.Group = cmp.Or(d.Title, d.Name), Yours
	switch _, err := ByName(d.Name); {
	case !validName.MatchString(d.Name):
		return fmt.Errorf("%w: the name %q, want letters, digits and dashes", ErrRegister, d.Name)
	case err == nil:
		return fmt.Errorf("%w: the name %q is taken", ErrRegister, d.Name)
	case d.Apply == nil:
		return fmt.Errorf("%w: %s has no Apply", ErrRegister, d.Name)
	}
	registered = append(registered, d)
	return nil
}
