package search

import (
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/byname"
)

// Workload is what the clients of a run do.
type Workload struct {
	// Name is short and unique. Title describes it.
	Name, Title string
	// Base is the configuration before a design changes it.
	Base simulation.Config
	// Work is what each client does.
	Work simulation.Workload
	// Span is the time over which faults are drawn. Default 10 s.
	Span time.Duration
}

// Workloads are the workloads for searches, the default first.
func Workloads() []Workload {
	return []Workload{Mixed(), relayWorkload()}
}

// ByName gives the workload of that name. The error lists the names.
func ByName(name string) (Workload, error) {
	return byname.Find("workload", name, Workloads(), func(w Workload) string { return w.Name })
}
