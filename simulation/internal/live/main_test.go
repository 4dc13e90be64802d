//go:build unix

package live

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test program is the driver of a design, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == DriverCommand {
		if err := Drive(os.Args[2:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
