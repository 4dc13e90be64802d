//go:build unix

package instance_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// BenchmarkCycle: each worker takes and releases its own lock on five real servers. It measures a
// whole lock with everything on, with the bare SET NX PX, and with all safety features off.
func BenchmarkCycle(b *testing.B) {
	servers := instancetest.StartN(b, 5, instancetest.Config{})
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	for _, kind := range []struct {
		name string
		cfg  quorum.Config
	}{
		{"all", quorum.Config{}},
		{"unfenced", quorum.Config{Fencing: quorum.Off}},
		{"bare", quorum.Config{Fencing: quorum.Off, ClockMonitor: quorum.Off, RestartQuarantine: quorum.Off}},
	} {
		for _, workers := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("%s/workers=%d", kind.name, workers), func(b *testing.B) {
				group, err := instance.OpenAll(instance.Config{}, urls...)
				require.NoError(b, err)
				defer func() { require.NoError(b, group.Close()) }()
				locks, err := quorum.New(kind.cfg, group.Instances()...)
				require.NoError(b, err)
				defer func() { require.NoError(b, locks.Close(b.Context())) }()
				require.NoError(b, locks.Trust(b.Context()))
				cycles(b, locks, workers)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
			})
		}
	}
}

func cycles(b *testing.B, locks *quorum.Coordinator, workers int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for w := range workers {
		key := fmt.Sprintf("worker-%d", w)
		all.Go(func() {
			for left.Add(-1) >= 0 {
				lease, err := locks.Acquire(b.Context(), key)
				if err != nil {
					b.Error(err)
					return
				}
				if err := lease.Release(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
}
