//go:build unix

package live

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// With runAlone in the environment the test program only runs cases, so that a test can kill
// it.
const runAlone = "LIVE_TEST_RUN"

func TestMain(m *testing.M) {
	RunChild()
	if os.Getenv(runAlone) != "" {
		_, err := Run(context.Background(), Options{Progress: func(l Line) { fmt.Println(l.Text()) }})
		fmt.Println(err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
