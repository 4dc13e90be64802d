//go:build race

package orders

// raced: the race detector makes runs many times slower.
const raced = true
