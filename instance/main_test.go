package instance

import (
	flags "flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Nothing may be left running when the tests are over: every abandoned call has
// ended, with its connection. A dial to a server that was stopped ends with
// DialTimeout, whatever became of its client; goleak alone waits for less.
func TestMain(m *testing.M) {
	// Parallel tests wait for leases and quarantines to end, most of the time: more of them
	// can run at once than there are processors.
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
		deadline := time.Now().Add(2 * defaultDialTimeout)
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
