package quorum_test

import (
	"context"
	"io"
	"runtime"
	"strconv"
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
	return wire.Identity{RunID: g.name, ReplID: g.name, Role: wire.RoleMaster, Mark: wire.MarkOf(g.name, "1", ""), Vouched: true, Served: time.Hour}, nil
}

func (g *granter) Send(req wire.Request, _ time.Duration, to wire.Receiver) {
	vote := wire.Vote{Outcome: wire.Granted}
	if req.Clock {
		vote.Clock = time.Now()
	}
	if req.Op == wire.Acquire {
		vote.Token = fencing.Token(1_000_000_000_000_000 + g.token.Add(1)) // of September 2001
	}
	to.Receive(vote)
}

// Subscribe never notifies: no other process waits.
func (g *granter) Subscribe(context.Context) (wire.Subscription, error) {
	return &silence{g.name, make(chan struct{})}, nil
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
	// Nothing is extended, and no clock is read, while this runs.
	c := granters(t, quorum.Config{TTL: time.Hour, MaxTTL: time.Hour, Lab: quorum.Lab{ClockEvery: time.Hour}, InstanceTimeout: time.Minute})
	_, err := c.Verify(context.Background()) // so that no round has to wait for a probe, on a goroutine of its own
	require.NoError(t, err)
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
		require.NoError(t, lease.Release(context.Background()))
	}
}
