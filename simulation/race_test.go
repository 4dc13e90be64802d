//go:build race

package simulation_test

// raced says that the race detector is on.
const raced = true
