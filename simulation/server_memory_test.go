package simulation_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
)

// A run leaves nothing behind: after 2N runs the heap is as large as after N.
func TestMemoryIsFlat(t *testing.T) {
	n := long.Number[uint64](4_000, 20)
	heap := func(from, to uint64) (bytes, goroutines int) {
		for seed := from; seed < to; seed++ {
			if seed%10 < 9 && n > 1000 { // many short runs, rather than a few long ones
				alone(t, nil, hold0)
				continue
			}
			drawn(t, seed%2000, fault.Kinds())
		}
		runtime.GC()
		runtime.GC() // objects kept by finalizers
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc), runtime.NumGoroutine()
	}
	warm := min(n, 20)
	heap(0, warm)
	once, before := heap(warm, warm+n)
	twice, after := heap(warm+n, warm+2*n)
	assert.InDelta(t, once, twice, 512<<10, "the heap has grown by %d bytes in %d runs", twice-once, n)
	assert.Equal(t, before, after, "goroutines")
}
