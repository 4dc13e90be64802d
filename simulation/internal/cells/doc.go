// Package cells has the cells of the matrix: its columns, which are faults; its rows, which are
// designs; what the clients of all cells do; and what is expected of each cell. Package matrix
// plays them and counts.
//
// It alone says what each lock is expected to stand, and why: a claim that is wrong, or a change
// that makes a lock worse than claimed, is found by no other test. Whether a fault still breaks what it should
// is seen in the recorded matrix.
//
// A Fault is a column: a few faults of one kind in each run, at random moments that the seed
// determines. The clients of all cells play the mixed workload of package search: they never act
// without a check, so every violation is due to the design. All designs run with the same seeds.
//
// Only violations of a design's promises count. Designs whose resource checks tokens promise only
// that the data stay correct, not that there is one holder; see Promised.
//
// ExpectationOf says for each cell whether a violation may or must not be found, and why.
package cells
