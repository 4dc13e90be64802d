package instance

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing may be left running when the tests are over: every abandoned call has
// ended, with its connection.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
