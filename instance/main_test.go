package instance

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance/instancetest"
)

// No goroutine may be left after the tests: every abandoned call has ended, with its connection.
// goleak alone waits for less than a goroutine may stand still on a busy machine.
func TestMain(m *testing.M) {
	instancetest.AtOnce(8) // they wait for leases and quarantines to end
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
