//go:build race

package contract

// raced: the race detector makes tests many times slower.
const raced = true
