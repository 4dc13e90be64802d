//go:build !race

package live_test

// raced: the race detector makes runs many times slower.
const raced = false
