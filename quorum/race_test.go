//go:build race

package quorum_test

// raced: the race detector makes tests many times slower.
const raced = true
