package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// A design that retries forever, and ignores its context, doesn't hang the run when its process
// crashes.
func TestLoopsOfACrashedProcessEnd(t *testing.T) {
	r := run(t, 1, simulation.Config{Processes: 1}, simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "read", Nth: 1}}, func(c *simulation.Client) {
		lease, err := c.TryAcquire(key)
		if err != nil {
			return
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				_ = lease.Release(context.Background())
				c.Clock().Sleep(time.Second)
			}
		}()
		_, _, _ = c.Read(lease) // it crashes here
		<-ended
	})
	assert.Equal(t, 1, r.Log.Counts()["a process crashed"])
	assert.Empty(t, r.Log.Violations())
}
