package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A walk that finds nothing, one whose findings a broken assumption excuses, one that finds a design's mistake,
// and one that is cut short.
func TestOrders(t *testing.T) {
	out, _ := does(t, exitOK, "orders", "-servers", "1", "-faults", "crash")
	assert.Contains(t, out, "these are all orders")
	assert.Regexp(t, `(?m)^try +crash +\d+ +\d+ +[0-9.]+  nothing$`, out)

	out, _ = does(t, exitOK, "orders", "-servers", "1", "-faults", "evict")
	assert.Contains(t, out, "two holders (assumption 3)")

	out, errs := does(t, exitFail, "orders", "-design", "half-quorum", "-servers", "2")
	assert.Regexp(t, `(?m)^try +none +1 +\d+ +[0-9.]+  .*two holders`, out)
	assert.Contains(t, out, "acquired k", "the run itself")
	assert.Contains(t, errs, "half-quorum doesn't hold")

	_, errs = does(t, exitFail, "orders", "-for", "1ns")
	assert.Contains(t, errs, "no order was played")
}
