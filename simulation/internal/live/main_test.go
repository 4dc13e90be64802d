//go:build unix

package live_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/internal/live"
)

// runAlone in the environment makes the test program play some scenarios and nothing
// else, so that a test can kill it.
const runAlone = "LIVE_TEST_RUN"

func TestMain(m *testing.M) {
	live.RunChild()
	if os.Getenv(runAlone) != "" {
		_, err := live.Run(context.Background(), live.Options{Progress: func(l live.Line) { fmt.Println(l.Text()) }})
		fmt.Println(err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
