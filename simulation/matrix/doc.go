// Package matrix sets lock designs against faults: how often each is violated under
// each, with a confidence interval and the first seed that shows it; which scenarios
// break which designs; and curves, each with what was calculated for it beside it.
//
//	result, err := matrix.Play(ctx, matrix.DefaultPlan(), matrix.Pool{})
//	err = result.Matrix().Text(os.Stdout, 100)
//
// # What a cell is
//
// A Fault is a column: a few faults of one sort in each run, at moments drawn from the
// seed. The clients of all cells do the same: two or three of them, three rounds each,
// in which they wait for the lock, keep it alive or extend it or not, read, think, look
// at the lease, write, and release or let it run out. They never act without looking
// first, so that what goes wrong is the design's or nobody's. All designs are played
// with the same seeds.
//
// What counts is what a design promises. Those with a resource that looks at tokens
// promise nothing about who believes to have the lock, only that the data come to no
// harm; see Promised.
//
// # What is expected
//
// ExpectationOf says for each cell whether a violation may be found, must be, or is one
// too many, and why. A result that differs is Unexpected, and makes the command fail.
// A zero is marked where something that it depends on never happened: it proves nothing
// then.
//
// # Who plays
//
// Runs are dealt out to worker processes (Pool), since two simulations in one process
// slow each other down. What comes of a Plan is the same with any number of them.
package matrix
