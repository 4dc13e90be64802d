package search

import "github.com/redquorum/redlock/simulation/internal/byname"

// Workloads are the workloads for searches, the default first.
func Workloads() []Workload {
	return []Workload{Mixed(), relayWorkload()}
}

// ByName gives the workload of that name. The error lists the names.
func ByName(name string) (Workload, error) {
	return byname.Find("workload", name, Workloads(), func(w Workload) string { return w.Name })
}
