// Package search finds schedules of faults that break a lock, and shrinks them to a
// readable size.
//
//   - A Setup names one run completely, as plain data: workload, design, what is
//     changed in these, seed and schedule.
//   - A Space is many Setups by number: seeds with schedules drawn from them, every
//     single fault at every moment of one run, or pairs of these. Search plays them,
//     on as many worker processes as there are cores, and what it reports doesn't
//     depend on how many there were.
//   - Shrink takes faults, lengths, clients and rounds away from a Setup for as long
//     as the same kind of violation remains.
//   - A File keeps a Setup together with the digest of its trace. It is read
//     strictly: one that was cut off or edited is not replayed as something else.
//   - Operations converts a run's history for an independent check, package judge.
//
// Workloads and designs have names, which a Registry knows: a function can't be
// written to a file. A user's own workload is registered in the same way:
//
//	registry := search.Registry{Workloads: []search.Workload{{Name: "mine", Work: ...}}, Designs: ...}
//	report, err := search.Search(ctx, registry, search.Space{Setup: ..., How: search.Draw}, search.Options{To: 10_000})
package search
