package quorum_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine has an owner and an end.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
