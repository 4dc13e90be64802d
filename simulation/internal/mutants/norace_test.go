//go:build !race

package mutants

// raced says that the race detector is on.
const raced = false
