//go:build race

package testbed_test

// raced: the race detector makes runs many times slower.
const raced = true
