package search

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/byname"
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
	w, err := byname.Find("workload", name, r.Workloads, func(w Workload) string { return w.Name })
	return w, badSetup(err)
}

// Design gives the design of that name. The error Is ErrSetup and lists the names.
func (r Registry) Design(name string) (Design, error) {
	d, err := byname.Find("design", name, r.Designs, func(d Design) string { return d.Name })
	return d, badSetup(err)
}

// badSetup makes an error Is ErrSetup.
func badSetup(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrSetup, err)
}
