//go:build unix

package instance_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// BenchmarkSeveralKeys compares a lease on several keys with one on a single key, on five real
// servers: how long an acquisition takes (p50), and the processor time of this client for taking
// and releasing it. The two take turns, in blocks, so that what else the machine does hits both.
func BenchmarkSeveralKeys(b *testing.B) {
	urls := make([]string, 5)
	for i, s := range instancetest.StartN(b, len(urls), instancetest.Config{}) {
		urls[i] = s.URL()
	}
	group, err := instance.OpenAll(instance.Config{}, urls...)
	require.NoError(b, err)
	defer func() { require.NoError(b, group.Close()) }()
	locks, err := quorum.New(quorum.Config{}, group.Instances()...)
	require.NoError(b, err)
	defer func() { require.NoError(b, locks.Close(b.Context())) }()
	require.NoError(b, locks.Trust(b.Context()))
	for _, n := range []int{2, 8, 16} {
		b.Run(fmt.Sprint("keys=", n), func(b *testing.B) {
			const block = 50
			var took [2][]time.Duration
			var used [2]time.Duration
			sets := [2][]string{{"one"}, nil}
			for i := range n {
				sets[1] = append(sets[1], fmt.Sprint("several-", i))
			}
			b.ResetTimer()
			for range max(b.N/block, 1) {
				for which, keys := range sets {
					before := processorTime(b)
					for range block {
						at := time.Now()
						lease, err := locks.AcquireAll(b.Context(), keys...)
						took[which] = append(took[which], time.Since(at))
						require.NoError(b, err)
						require.NoError(b, lease.Release(b.Context()))
					}
					require.NoError(b, locks.Settle(b.Context()))
					used[which] += processorTime(b) - before
				}
			}
			b.StopTimer()
			var p50 [2]time.Duration
			for which := range took {
				slices.Sort(took[which])
				p50[which] = took[which][len(took[which])/2]
			}
			runs := float64(len(took[0]))
			b.ReportMetric(float64(p50[0].Microseconds()), "one-p50-µs")
			b.ReportMetric(float64(p50[1].Microseconds()), "p50-µs")
			b.ReportMetric(float64(p50[1])/float64(p50[0]), "times-p50")
			b.ReportMetric(float64(used[0].Microseconds())/runs, "one-cpu-µs")
			b.ReportMetric(float64(used[1].Microseconds())/runs, "cpu-µs")
			b.ReportMetric(float64(used[1])/float64(used[0]), "times-cpu")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime is the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
