// Package matrix runs lock designs under faults. It reports how often each fault violates
// each design, with a confidence interval and the first seed; which scenarios break which
// designs; and curves next to their calculated values.
//
//	result, err := matrix.Play(ctx, matrix.DefaultPlan(), matrix.Pool{})
//	err = result.Matrix().Text(os.Stdout, 100)
//
// # Cells
//
// A Fault is a column: a few faults of one kind in each run, at random moments that the
// seed determines. The clients of all cells do the same: two or three clients run three
// rounds each, in which they wait for the lock, may extend it or keep it alive, read,
// pause, check the lease, write, and release it or let it expire. They never act without
// a check, so every violation is due to the design. All designs run with the same seeds.
//
// Only violations of a design's promises count. Designs whose resource checks tokens
// promise only that the data stay correct, not that there is one holder; see promised.
//
// # Expectations
//
// ExpectationOf says for each cell whether a violation may, must or must not be found, and
// why. A different result is Unexpected and makes the command fail. A zero is marked if
// an event on which it depends never happened, because then it proves nothing.
//
// # Workers
//
// Worker processes (Pool) share the runs, because two simulations in one process slow each
// other down. The result of a Plan does not depend on their number.
package matrix
