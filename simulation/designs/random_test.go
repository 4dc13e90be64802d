package designs_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// rounds is a workload of mixed operations.
func rounds(c *simulation.Client) {
	for n := range uint64(3) {
		acquire := c.TryAcquire
		if c.Pick(10+n, 2) == 0 {
			acquire = c.Acquire
		}
		lease, err := acquire(key)
		if err != nil {
			c.Sleep(time.Duration(c.Pick(20+n, 1000)) * ms)
			continue
		}
		update(c, lease)
		if c.Pick(30+n, 2) == 0 {
			c.Sleep(time.Duration(c.Pick(40+n, 6000)) * ms)
			_ = c.Extend(lease)
			update(c, lease)
		}
		if c.Pick(50+n, 4) != 0 {
			_ = c.Release(lease)
		}
	}
}

// Under any faults, a run of a design ends, leaves no goroutine, and has the same result each
// time.
func TestSameSeedSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i, d := range designs.All() {
		cfg := d.Configure(simulation.Config{})
		cfg.Quorum.MaxTries, cfg.Quorum.MaxWait = 20, 20*time.Second
		for n := range uint64(6) {
			seed := uint64(i)*100 + n
			schedule := simulation.Draw(seed, cfg, fault.Kinds(), 8, 40*time.Second)
			var digest string
			for n := range 2 {
				runtime.GOMAXPROCS(1 + n)
				r, err := simulation.Run(seed, cfg, schedule, rounds)
				require.NoError(t, err)
				for _, kind := range r.Kinds() {
					if d.Name == "no-timeout" && kind == record.Stuck {
						continue // it waits for a lost answer forever
					}
					require.NotContains(t, []record.ViolationKind{
						record.Stuck, record.LeftOver, record.Panicked, record.Unsimulated,
					}, kind, "%s, seed %d: %v\n%s", d.Name, seed, r.Log.Violations(), r.Log)
				}
				if n == 0 {
					digest = r.Log.Digest()
				}
				require.Equal(t, digest, r.Log.Digest(), "%s, seed %d", d.Name, seed)
			}
		}
	}
}
