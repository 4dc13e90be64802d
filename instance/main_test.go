package instance

import (
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
	code := m.Run()
	if code == 0 {
		deadline := time.Now().Add(2 * hardDialTimeout)
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
