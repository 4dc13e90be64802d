//go:build !race

package live

// raced: the race detector makes runs many times slower.
const raced = false
