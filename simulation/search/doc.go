// Package search finds schedules of faults that break a lock, and shrinks them to a
// readable size. It alone finds combinations of faults that nobody has thought of, and bugs that need
// several faults and a long run. Each workload reaches code that the others don't:
//
//   - mixed: one lock, used in every way. The matrix counts its violations.
//   - relay: hand-offs between processes and between the goroutines of a process.
//
// The tests also have random worlds: several keys at once, and faults that come in storms.
//
// # Its parts
//
//   - A Space is a workload with a design, and a schedule that is drawn for each seed. Search plays its
//     runs on all processors. Its report doesn't depend on their number.
//   - Space.Shrink removes faults and time from the schedule of a finding as long as the same kind of
//     violation remains.
package search
