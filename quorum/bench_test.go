package quorum_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// benchCoordinator is a Coordinator on five servers in memory, in real time.
func benchCoordinator(b *testing.B, override func(*quorum.Config)) *quorum.Coordinator {
	b.Helper()
	instances := make([]wire.Instance, 5)
	for i := range instances {
		s := quorumtest.NewServer(string(rune('A'+i)), nil)
		s.SetIdentity(func(id *wire.Identity) { id.Vouched = true })
		instances[i] = s
	}
	cfg := quorum.Config{}
	if override != nil {
		override(&cfg)
	}
	c, err := quorum.New(cfg, instances...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return c
}

func acquireAndRelease(b *testing.B, c *quorum.Coordinator, key string) {
	lease, err := c.TryAcquire(context.Background(), key)
	if err != nil {
		b.Error(err)
		return
	}
	if err := lease.Release(context.Background()); err != nil {
		b.Error(err)
	}
}

// The cost of the protocol alone: acquire and release without a network.
func BenchmarkTryAcquireRelease(b *testing.B) {
	for name, override := range map[string]func(*quorum.Config){
		"Defaults":   nil,
		"FencingOff": func(cfg *quorum.Config) { cfg.Fencing = quorum.Off },
		"AllOff": func(cfg *quorum.Config) {
			cfg.Fencing, cfg.RestartQuarantine, cfg.ClockMonitor = quorum.Off, quorum.Off, quorum.Off
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := benchCoordinator(b, override)
			b.ReportAllocs()
			// Each iteration uses its own key, so that no straggler's delete meets the next round's
			// SET.
			n := 0
			for b.Loop() {
				n++
				acquireAndRelease(b, c, strconv.Itoa(n))
			}
		})
	}
}

func BenchmarkTryAcquireReleaseParallel(b *testing.B) {
	c := benchCoordinator(b, nil)
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			acquireAndRelease(b, c, strconv.FormatInt(n.Add(1), 10))
		}
	})
}

// Many goroutines of one process want the same lock: the local queue.
func BenchmarkAcquireReleaseContended(b *testing.B) {
	c := benchCoordinator(b, nil)
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			lease, err := c.Acquire(context.Background(), "k")
			if err != nil {
				b.Error(err)
				return
			}
			if err := lease.Release(context.Background()); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkExtend(b *testing.B) {
	c := benchCoordinator(b, nil)
	lease, err := c.TryAcquire(context.Background(), "k")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := lease.Extend(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	if err := lease.Release(context.Background()); err != nil {
		b.Fatal(err)
	}
}
