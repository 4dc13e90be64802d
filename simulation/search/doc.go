// Package search finds schedules of faults that break a lock, and shrinks them to a
// readable size.
//
//   - A Setup is one run, as plain data: workload, design, changes to these, seed and
//     schedule.
//   - A Space is a numbered set of Setups: seeds with random schedules. Search plays them
//     in worker processes. Its report doesn't depend on the number of workers.
//   - Shrink removes faults, time, clients and rounds from a Setup as long as the same
//     kind of violation remains.
//   - A File keeps a Setup together with the digest of its trace.
//
// Workloads and designs have names in a Registry, because a function can't be written to a
// file. Register your own workload in the same way:
//
//	registry := search.Registry{Workloads: []search.Workload{{Name: "mine", Work: ...}}, Designs: ...}
//	report, err := search.Search(ctx, registry, search.Space{Setup: ...}, search.Options{To: 10_000})
package search
