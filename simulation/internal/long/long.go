// Package long says how many runs a test plays. Tests that play many play all of them only if they
// are asked to, so that a stranger's first `go test ./...` ends soon.
package long

import (
	"os"
	"testing"
)

// Asked reports whether REDLOCK_LONG is set, as in .ci/run. Call it in a test, and not when the package is
// initialized: only then the go tool knows that a cached result depends on the variable.
func Asked() bool { return os.Getenv("REDLOCK_LONG") != "" }

// Test skips a test that takes long unless it is asked for. It gets the reason.
func Test(t testing.TB, why string) {
	t.Helper()
	if !Asked() {
		t.Skip(why + "; with REDLOCK_LONG=1 it runs")
	}
}

// Number returns all if it is asked for, and few otherwise.
func Number[N any](all, few N) N {
	if Asked() {
		return all
	}
	return few
}
