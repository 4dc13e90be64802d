package quorum_test

import (
	"context"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// granter is an instance that grants everything at once and keeps nothing, so that a benchmark
// measures only the Coordinator.
type granter struct {
	name  string
	token atomic.Uint64
}

func (g *granter) Name() string            { return g.name }
func (g *granter) ConnLife() time.Duration { return 0 }

func (g *granter) Probe(context.Context, wire.Known) (wire.Identity, error) {
	return wire.Identity{RunID: g.name, ReplID: g.name, Role: wire.RoleMaster, Epoch: "1", Vouched: true, Served: time.Hour}, nil
}

func (g *granter) Send(req wire.Request, _ time.Duration, to wire.Receiver) {
	vote := wire.Vote{Outcome: wire.Granted}
	if req.Clock {
		vote.Clock = time.Now()
	}
	if req.Op == wire.Acquire {
		vote.Token, vote.Reserved = fencing.Token(g.token.Add(1+uint64(req.Fence.Reserve))), req.Fence.Reserve
	}
	to.Receive(vote)
}

// Subscribe never notifies: no other process waits.
func (g *granter) Subscribe(context.Context) (wire.Subscription, error) {
	return &silence{g.name, make(chan struct{})}, nil
}

func (g *granter) Enqueue(_ wire.Waiter, _ time.Duration, to wire.Receiver) {
	to.Receive(wire.Vote{Outcome: wire.Granted})
}

func (g *granter) Dequeue(_ wire.Waiter, _ time.Duration, to wire.Receiver) {
	to.Receive(wire.Vote{Outcome: wire.Granted})
}

// silence is a subscription without notifications.
type silence struct {
	address string
	closed  chan struct{}
}

func (s *silence) Address() string { return s.address }

func (s *silence) Next() (string, error) {
	<-s.closed
	return "", io.EOF
}

func (s *silence) Close() error {
	close(s.closed)
	return nil
}

// granters is a Coordinator on five granters.
func granters(b testing.TB, cfg quorum.Config) *quorum.Coordinator {
	b.Helper()
	instances := make([]wire.Instance, 5)
	for i := range instances {
		instances[i] = &granter{name: string(rune('A' + i))}
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

// heap is the memory in use, without stacks.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// holdAsDo holds a lease as Do does.
func holdAsDo(lease *quorum.Lease) {
	lease.KeepAlive()
	lease.Within(context.Background())
}

// A process may hold very many leases. Each takes about 2 KB, and no goroutine or timer. The rest of the
// bound is for maps, which grow at moments that differ from run to run.
func TestAHeldLeaseIsSmall(t *testing.T) {
	const n, most = 5000, 2560
	c := granters(t, quorum.Config{Terms: quorum.Terms{TTL: 30 * time.Second}})
	leases := make([]*quorum.Lease, n)
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range leases {
		lease, err := c.TryAcquire(context.Background(), strconv.Itoa(i))
		require.NoError(t, err)
		holdAsDo(lease)
		require.NoError(t, lease.Extend(context.Background()))
		leases[i] = lease
	}
	used := heap() - before
	assert.Less(t, used/n, int64(most))
	assert.LessOrEqual(t, runtime.NumGoroutine()-goroutines, 5, "the keeper, the clock monitor, and what they are doing")
	for _, lease := range leases {
		assert.Len(t, lease.Votes(), 5)
		require.NoError(t, lease.Release(context.Background()))
	}
}

// The cost of each held lease: plain, kept alive, and as Do holds it, each extended once. Try it
// with -benchtime 100000x.
func BenchmarkHeldLease(b *testing.B) {
	for _, kind := range []struct {
		name string
		hold func(lease *quorum.Lease)
	}{
		{"Plain", func(*quorum.Lease) {}},
		{"KeepAlive", func(lease *quorum.Lease) { lease.KeepAlive() }},
		{"Do", holdAsDo},
	} {
		b.Run(kind.name, func(b *testing.B) {
			c := granters(b, quorum.Config{Terms: quorum.Terms{TTL: 30 * time.Second}})
			leases := make([]*quorum.Lease, b.N)
			before, goroutines := heap(), runtime.NumGoroutine()
			b.ResetTimer()
			for i := range leases {
				lease, err := c.TryAcquire(context.Background(), strconv.Itoa(i))
				if err != nil {
					b.Fatal(err)
				}
				kind.hold(lease)
				leases[i] = lease
			}
			b.StopTimer()
			for _, lease := range leases {
				if err := lease.Extend(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(b.N), "B/lease")
			b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(b.N), "goroutines/lease")
			for _, lease := range leases {
				if err := lease.Release(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A lock that goes from goroutine to goroutine of a process, with so many waiters.
func BenchmarkHandOff(b *testing.B) {
	for _, waiters := range []int{100, 10_000} {
		b.Run(strconv.Itoa(waiters), func(b *testing.B) {
			c := granters(b, quorum.Config{})
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			var done sync.WaitGroup
			turns, allWait, over := 0, make(chan struct{}), make(chan struct{})
			take := func() bool {
				lease, err := c.Acquire(ctx, "k")
				if err != nil {
					return false
				}
				switch turns++; turns { // under the lock
				case waiters: // each has had a turn, and waits for its next turn
					close(allWait)
				case waiters + b.N:
					close(over)
				}
				return lease.Release(ctx) == nil
			}
			for range waiters {
				done.Go(func() {
					for take() {
					}
				})
			}
			<-allWait
			b.ResetTimer()
			<-over
			b.StopTimer()
			stop()
			done.Wait()
		})
	}
}
