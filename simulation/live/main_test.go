//go:build unix

package live_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/live"
)

func TestMain(m *testing.M) {
	live.PlayPart()
	goleak.VerifyTestMain(m)
}
