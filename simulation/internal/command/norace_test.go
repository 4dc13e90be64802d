//go:build !race

package command

// raced: the race detector makes runs many times slower.
const raced = false
