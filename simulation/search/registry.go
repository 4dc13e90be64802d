package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
)

// ErrSetup is wrapped by the error for a Setup, a Space or Options that can't be
// played.
var ErrSetup = errors.New("search: bad setup")

// Workload is what the clients of a run do, by name.
type Workload struct {
	// Name is short and unique, Title says in words what it is.
	Name, Title string
	// Base is the world before a design has set up its part of it.
	Base simulation.Config
	// Rounds is how many rounds Work plays unless a Setup says otherwise, 0: it
	// knows no rounds.
	Rounds int
	// Work makes the workload of so many rounds, for clients in such a world.
	Work func(cfg simulation.Config, rounds int) simulation.Workload
	// Span is the time over which faults are drawn. Default 10 s.
	Span time.Duration
	// Designs are ways to lock that are played with this workload alone.
	Designs []Design
	// Judge, if set, adds what the workload itself demands of a run to what the
	// checks have found. The same Setup must always get the same.
	Judge func(Setup, simulation.Result) simulation.Result
}

// Workloads are those that are made for searches, the usual one first.
func Workloads() []Workload { return []Workload{Mixed(), Crowd(), Relay()} }

// Design is a way to lock, by name.
type Design struct {
	Name, Title string
	// Apply changes a Config so that a run's processes lock in this way.
	Apply func(*simulation.Config)
	// Promises says that it is the library as it is, which makes the promises of package
	// quorum. What breaks one of them in another design is no bug of the library.
	Promises bool
}

// Registry knows workloads and designs by name. Names in a Setup mean those of the
// Registry that it is played with.
type Registry struct {
	Workloads []Workload
	Designs   []Design
}

// Workload gives the workload of that name; the error Is ErrSetup and lists those
// that there are.
func (r Registry) Workload(name string) (Workload, error) {
	names := make([]string, len(r.Workloads))
	for i, w := range r.Workloads {
		if names[i] = w.Name; w.Name == name {
			return w, nil
		}
	}
	return Workload{}, unknown("workload", name, names)
}

// Design gives the design of that name, one of the Registry's or of the workload's
// own; the error Is ErrSetup and lists those that there are.
func (r Registry) Design(w Workload, name string) (Design, error) {
	all := slices.Concat(w.Designs, r.Designs)
	names := make([]string, len(all))
	for i, d := range all {
		if names[i] = d.Name; d.Name == name {
			return d, nil
		}
	}
	return Design{}, unknown("design", name, names)
}

func unknown(what, name string, names []string) error {
	slices.Sort(names)
	return fmt.Errorf("%w: there is no %s %q; there are: %s", ErrSetup, what, name, strings.Join(names, ", "))
}
