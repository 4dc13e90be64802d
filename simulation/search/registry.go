package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// ErrSetup is wrapped by the error for a Setup, a Space or Options that can't be
// played.
var ErrSetup = errors.New("search: bad setup")

// Workload is what the clients of a run do, by name.
type Workload struct {
	// Name is short and unique. Title describes it.
	Name, Title string
	// Base is the configuration before a design changes it.
	Base simulation.Config
	// Work makes the workload.
	Work func(cfg simulation.Config) simulation.Workload
	// Span is the time over which faults are drawn. Default 10 s.
	Span time.Duration
	// Judge, if set, adds the workload's own checks of a run. It must be deterministic.
	Judge func(simulation.Result) simulation.Result
}

// Workloads are the workloads for searches, the default first.
func Workloads() []Workload {
	return []Workload{Mixed(), crowdWorkload(), relayWorkload()}
}

// Design is a way to lock, by name. Only Name and Apply are needed here.
type Design = designs.Design

// Registry has the workloads and designs that Setups name.
type Registry struct {
	Workloads []Workload
	Designs   []Design
}

// Workload gives the workload of that name. The error Is ErrSetup and lists the names.
func (r Registry) Workload(name string) (Workload, error) {
	return named("workload", name, r.Workloads, func(w Workload) string { return w.Name })
}

// Design gives the design of that name. The error Is ErrSetup and lists the names.
func (r Registry) Design(name string) (Design, error) {
	return named("design", name, r.Designs, func(d Design) string { return d.Name })
}

func named[T any](what, name string, all []T, nameOf func(T) string) (none T, err error) {
	names := make([]string, len(all))
	for i, one := range all {
		if names[i] = nameOf(one); names[i] == name {
			return one, nil
		}
	}
	slices.Sort(names)
	return none, fmt.Errorf("%w: there is no %s %q; there are: %s", ErrSetup, what, name, strings.Join(names, ", "))
}
