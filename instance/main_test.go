package instance

import (
	flags "flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// No goroutine may be left after the tests: every abandoned call has ended, with its connection.
// goleak alone waits for less than a goroutine may stand still on a busy machine.
func TestMain(m *testing.M) {
	// Parallel tests mostly wait for leases and quarantines to end, so more of them can run at once
	// than there are processors.
	if !flags.Parsed() {
		flags.Parse()
	}
	given := false
	flags.Visit(func(f *flags.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flags.Set("test.parallel", "8")
	}
	code := m.Run()
	if code == 0 {
		deadline := time.Now().Add(patience)
		err := goleak.Find()
		for err != nil && time.Now().Before(deadline) {
			err = goleak.Find()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "left running: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}
