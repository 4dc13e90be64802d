//go:build race

package mutants_test

// raced says that the race detector is on.
const raced = true
