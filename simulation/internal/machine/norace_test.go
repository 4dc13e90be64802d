//go:build !race

package machine

// raced says that the race detector is on.
const raced = false
