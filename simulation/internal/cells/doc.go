// Package cells has the cells of the matrix: its columns, which are faults; its rows, which are
// designs; what the clients of all cells do; and what is expected of each cell. Package matrix
// plays them and counts.
//
// A Fault is a column: a few faults of one kind in each run, at random moments that the seed
// determines. The clients of all cells do the same: two or three clients run three rounds each, in
// which they wait for the lock, may extend it or keep it alive, read, pause, check the lease,
// write, and release it or let it expire. They never act without a check, so every violation is due
// to the design. All designs run with the same seeds.
//
// Only violations of a design's promises count. Designs whose resource checks tokens promise only
// that the data stay correct, not that there is one holder; see Promised.
//
// ExpectationOf says for each cell whether a violation may, must or must not be found, and why.
package cells
