//go:build !race

package book_test

// raced says that the race detector is on.
const raced = false
