// Package search finds schedules of faults that break a lock, and shrinks them to a
// readable size. It alone answers which faults together break a critical section that nobody has
// thought about, and it alone finds bugs that need several faults and a long run. Each workload reaches
// code that the others don't:
//
//   - mixed: one lock, used in every way. The matrix counts its violations.
//   - crowd: hand-offs between the goroutines of a process.
//   - relay: hand-offs between processes, and addresses that lead elsewhere.
//
// The tests have more workloads, for what is built on locks: elections, jobs that run once, and
// read/write locks. And they have random worlds, whose faults come in storms.
//
// # Its parts
//
//   - A Setup is one run, as plain data: workload, design, seed and schedule.
//   - A Space is a numbered set of Setups: seeds with random schedules. Search plays them
//     in worker processes. Its report doesn't depend on the number of workers.
//   - Shrink removes faults and time from a Setup's schedule as long as the same kind of
//     violation remains.
//
// Workloads and designs have names in a Registry, because a function can't be sent to a
// worker process. Register your own workload in the same way:
//
//	registry := search.Registry{Workloads: []search.Workload{{Name: "mine", Work: ...}}, Designs: ...}
//	report, err := search.Search(ctx, registry, search.Space{Setup: ...}, search.Options{To: 10_000})
package search
