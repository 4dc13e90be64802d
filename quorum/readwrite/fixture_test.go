package readwrite_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/readwrite"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// world is three servers in virtual time, with messages of up to a millisecond, and who reads and
// writes.
type world struct {
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers
	began   time.Time
	polls   bool // Notifications are Off

	mu      sync.Mutex
	inside  []*holder
	most    int           // how many read at once
	last    fencing.Token // of a writer
	highest fencing.Token // of anybody
}

// holder is who has a lease.
type holder struct {
	*quorum.Lease
	writes bool
}

func play(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: context.Background(), servers: quorumtest.NewServers(3), began: time.Now()}
		r := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		travel := func(wire.Request) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(1+r.IntN(999)) * time.Microsecond
		}
		for _, s := range w.servers {
			s.Delay(travel, travel)
		}
		test(w)
	})
}

func (w *world) elapsed() time.Duration { return time.Since(w.began) }

// process is one process: its Coordinator, its Lock, and its connections, which can be cut.
type process struct {
	*readwrite.Lock
	w     *world
	locks *quorum.Coordinator
	cut   atomic.Bool
}

type connection struct {
	quorumtest.NotifyingServer
	of *process
}

func (c connection) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if c.of.cut.Load() {
		to.Receive(wire.Vote{Unsent: true, Err: quorumtest.ErrConnRefused})
		return
	}
	c.NotifyingServer.Send(cmd, timeout, to)
}

func (w *world) process(readers int, overrides ...func(*quorum.Config)) *process {
	w.t.Helper()
	p := &process{w: w}
	of := quorum.Config{MaxTTL: 10 * time.Second}
	of.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
	for _, override := range overrides {
		override(&of)
	}
	if w.polls {
		of.Lab.Notifications = quorum.Off
	}
	var instances []wire.Instance
	for _, s := range w.servers {
		instances = append(instances, connection{quorumtest.NotifyingServer{Server: s}, p})
	}
	var err error
	p.locks, err = quorum.New(of, instances...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		assert.NoError(w.t, p.locks.Close(ctx))
	})
	p.Lock, err = readwrite.New(p.locks, "book", readwrite.Config{Readers: readers})
	require.NoError(w.t, err)
	return p
}

func maxWait(d time.Duration) func(*quorum.Config) {
	return func(cfg *quorum.Config) { cfg.MaxWait = d }
}

// enter checks a new lease against all others that are valid.
func (w *world) enter(lease *quorum.Lease, writes bool) *holder {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &holder{lease, writes}
	readers := 0
	w.inside = slices.DeleteFunc(w.inside, func(other *holder) bool { return other.Validity() <= 0 })
	for _, other := range w.inside {
		assert.False(w.t, writes || other.writes, "%v enters, and %v is inside", h.Lease, other.Lease)
	}
	w.inside = append(w.inside, h)
	for _, other := range w.inside {
		if !other.writes {
			readers++
		}
	}
	w.most = max(w.most, readers)
	if lease.Token() > 0 {
		assert.Greater(w.t, lease.Token(), w.last, "a token isn't above the last writer's")
		if writes {
			assert.Greater(w.t, lease.Token(), w.highest, "a writer's token isn't above every earlier one")
			w.last = lease.Token()
		}
		w.highest = max(w.highest, lease.Token())
	}
	return h
}

// leave ends a lease. Its error is that of the release.
func (w *world) leave(h *holder) error {
	w.mu.Lock()
	w.inside = slices.DeleteFunc(w.inside, func(other *holder) bool { return other == h })
	w.mu.Unlock()
	return h.Release(w.ctx)
}

// reads and writes take a lease for a while.
func (p *process) reads(takes time.Duration) error  { return p.visit(p.Read, false, takes) }
func (p *process) writes(takes time.Duration) error { return p.visit(p.Write, true, takes) }

func (p *process) visit(enter func(context.Context) (*quorum.Lease, error), writes bool, takes time.Duration) error {
	lease, err := enter(p.w.ctx)
	if err != nil {
		return err
	}
	h := p.w.enter(lease, writes)
	time.Sleep(takes)
	return p.w.leave(h)
}

// requests counts the requests of a kind that a server has got for keys of the lock.
func (w *world) requests(op wire.Op) (n int) {
	for _, e := range w.servers[0].Log() {
		if e.Request.Op == op {
			n++
		}
	}
	return n
}

// requireNothingLeft demands that the servers have no key within a second.
func (w *world) requireNothingLeft() {
	w.t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	for _, s := range w.servers {
		require.Empty(w.t, s.Keys(), s.Name())
	}
}
