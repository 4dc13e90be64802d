//go:build !race

package timeline_test

// raced: the race detector makes runs many times slower.
const raced = false
