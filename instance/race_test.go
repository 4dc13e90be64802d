//go:build race

package instance

// fewer returns how many of n random cases a test draws: fewer with the race detector, which makes
// them slower and finds nothing in them, because they come one after the other.
func fewer(n int) int { return n / 2 }
