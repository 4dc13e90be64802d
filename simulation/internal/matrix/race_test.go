//go:build race

package matrix

// raced: the race detector makes runs ten times as slow.
const raced = true
