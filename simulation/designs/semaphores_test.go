package designs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
)

// Without faults both semaphores let two in and refuse the third, extend, release, and forget a
// holder that crashed.
func TestSemaphores(t *testing.T) {
	tried := 0
	for _, d := range designs.All() {
		if d.Group != designs.Semaphores {
			continue
		}
		tried++
		t.Run(d.Name, func(t *testing.T) {
			schedule := simulation.Schedule{{Kind: fault.Crash, Process: "c2", At: 5 * time.Second}}
			r := play(t, d.Name, simulation.Config{Processes: 3, Witness: true}, schedule, parts(map[string]simulation.Workload{
				"c1": func(c *simulation.Client) {
					lease, err := c.TryAcquire(key)
					if !assert.NoError(t, err) {
						return
					}
					assert.Equal(t, key, lease.Key())
					c.SleepUntil(8 * time.Second)
					assert.NoError(t, c.Extend(lease))
					c.SleepUntil(17 * time.Second)
					assert.NoError(t, c.Release(lease))
				},
				"c2": func(c *simulation.Client) {
					c.SleepUntil(100 * ms)
					assert.NotNil(t, take(c))
					c.Sleep(time.Hour)
				},
				"c3": func(c *simulation.Client) {
					c.SleepUntil(200 * ms)
					assert.Nil(t, take(c), "both permits are taken")
					c.SleepUntil(9 * time.Second)
					assert.Nil(t, take(c), "the crashed holder's lease hasn't expired")
					c.SleepUntil(12 * time.Second)
					first := take(c)
					assert.NotNil(t, first, "it has now")
					assert.Nil(t, take(c), "c1 has extended its lease")
					c.SleepUntil(18 * time.Second)
					second := take(c)
					if assert.NotNil(t, second, "c1 has released its lease") && first != nil {
						assert.NoError(t, c.Release(first))
						assert.NoError(t, c.Release(second))
					}
				},
			}))
			assert.Equal(t, 4, did(r, "c1", "acquired")+did(r, "c2", "acquired")+did(r, "c3", "acquired"))
		})
	}
	assert.Equal(t, 2, tried)
}
