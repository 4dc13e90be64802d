package designs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
)

// Without faults each design but one is a lock: it locks, excludes, extends, releases and hands
// off, and leaves nothing behind.
func TestCalmDay(t *testing.T) {
	for _, d := range designs.All() {
		if d.Name == "setex" {
			continue // it excludes nobody, see S32
		}
		t.Run(d.Name, func(t *testing.T) {
			cfg := simulation.Config{Witness: true}
			cfg.Quorum.MaxWait = time.Minute
			r := play(t, d.Name, cfg, nil, parts(map[string]simulation.Workload{
				"c1": func(c *simulation.Client) {
					lease, err := c.TryAcquire(key)
					if !assert.NoError(t, err) {
						return
					}
					assert.Equal(t, key, lease.Key())
					if d.Name != "same-value" {
						assert.GreaterOrEqual(t, len(lease.Value()), 40, "20 bytes, as the document has it")
					}
					update(c, lease)
					c.SleepUntil(8 * time.Second)
					if d.Name != "setnx" { // its lease lasts
						assert.NoError(t, c.Extend(lease))
					}
					c.SleepUntil(15 * time.Second) // beyond the first TTL
					assert.True(t, c.Valid(lease))
					update(c, lease)
					assert.NoError(t, c.Release(lease))
					assert.LessOrEqual(t, lease.Validity(), time.Duration(0), "it is over for its holder too")
					assert.Error(t, lease.Release(c.Context()), "it was released before")
					c.SleepUntil(25 * time.Second)
					lease, err = c.Acquire(key)
					if !assert.NoError(t, err) {
						return
					}
					update(c, lease)
					assert.NoError(t, c.Release(lease))
				},
				"c2": func(c *simulation.Client) {
					c.SleepUntil(100 * ms)
					assert.Nil(t, take(c))
					c.SleepUntil(13 * time.Second) // the first TTL is over
					assert.Nil(t, take(c), "it was extended")
					lease, err := c.Acquire(key)
					if !assert.NoError(t, err) {
						return
					}
					update(c, lease)
					c.SleepUntil(20 * time.Second)
					assert.NoError(t, c.Release(lease))
				},
			}), none...)
			assert.Equal(t, 2, did(r, "c1", "acquired"))
			assert.Equal(t, 1, did(r, "c2", "acquired"))
			assert.Equal(t, 3, did(r, "c1", "write"))
			assert.Equal(t, 1, did(r, "c2", "write"))
		})
	}
}
