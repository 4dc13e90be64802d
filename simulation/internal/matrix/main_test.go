package matrix

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/redquorum/redlock/simulation/internal/long"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// few is a number of seeds for which a test has time.
func few(n uint64) uint64 { return long.Number(n, max(1, n/6)) }
