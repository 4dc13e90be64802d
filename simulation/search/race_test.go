//go:build race

package search_test

// raced: the race detector makes runs many times slower.
const raced = true
