//go:build race

package docs_test

// raced says that the race detector is on.
const raced = true
