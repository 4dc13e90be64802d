package testbed_test

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// redsync is the algorithm of go-redsync/redsync v4, mutex.go, for simulated servers.
type redsync struct {
	process simulation.Process
	wait    designs.Patience
	ttl     time.Duration
	// reader reads the monotonic clock, as time.Now does in a real program.
	reader *drift.Reader
}

func newRedsync(p simulation.Process) (simulation.Locker, error) {
	return &redsync{process: p, wait: designs.PatienceOf(p), ttl: p.Config.TTL, reader: drift.NewReader(p.Config.Clock)}, nil
}

// Acquire uses one value for all tries, as redsync does.
func (r *redsync) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	value, err := designs.NewValue(r.process.Config.Random)
	if err != nil {
		return nil, err
	}
	return r.wait.Acquire(ctx, func(int) (simulation.Lease, error) { return r.try(ctx, key, value) })
}

func (r *redsync) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	value, err := designs.NewValue(r.process.Config.Random)
	if err != nil {
		return nil, err
	}
	return r.try(ctx, key, value)
}

func (r *redsync) Close(context.Context) error { return nil }

func (r *redsync) try(ctx context.Context, key, value string) (simulation.Lease, error) {
	l := &redsyncLease{lock: r, key: key, value: value}
	if l.renew(ctx, "SET", key, value, "NX", "PX", designs.Milliseconds(r.ttl)) {
		return l, nil
	}
	r.ask(ctx, "EVAL", redismodel.CompareDel, "1", key, value)
	return nil, quorum.ErrNoQuorum
}

// ask sends a command to all servers, and counts the successes.
func (r *redsync) ask(ctx context.Context, command ...string) int {
	ctx, cancel := r.process.Config.Clock.WithTimeout(ctx, r.ttl/20) // WithTimeoutFactor's default
	defer cancel()
	yes := make([]bool, len(r.process.Redis))
	var all sync.WaitGroup
	for i, server := range r.process.Redis {
		all.Go(func() {
			reply, err := server.Do(ctx, command...)
			yes[i] = err == nil && (reply.Text == "OK" || reply.Int == 1)
		})
	}
	all.Wait()
	n := 0
	for _, y := range yes {
		if y {
			n++
		}
	}
	return n
}

// redsyncLease is a Mutex that is locked.
type redsyncLease struct {
	lock       *redsync
	key, value string

	mu    sync.Mutex
	until time.Duration // by the monotonic clock
}

// renew sets or extends the keys, and reports whether a quorum has them in time.
func (l *redsyncLease) renew(ctx context.Context, command ...string) bool {
	start := l.lock.reader.Now().Mono
	n := l.lock.ask(ctx, command...)
	now := l.lock.reader.Now().Mono
	until := now + l.lock.ttl - (now - start) - l.lock.ttl/100 // WithDriftFactor's default
	if n < l.Quorum() || now >= until {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
	return true
}

func (l *redsyncLease) Key() string          { return l.key }
func (l *redsyncLease) Value() string        { return l.value }
func (l *redsyncLease) Token() fencing.Token { return 0 }
func (l *redsyncLease) Quorum() int          { return len(l.lock.process.Redis)/2 + 1 }

func (l *redsyncLease) Validity() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until - l.lock.reader.Now().Mono
}

func (l *redsyncLease) Extend(ctx context.Context) error {
	if !l.renew(ctx, "EVAL", redismodel.CompareExpire, "1", l.key, l.value, designs.Milliseconds(l.lock.ttl)) {
		return quorum.ErrNotExtended
	}
	return nil
}

func (l *redsyncLease) Release(ctx context.Context) error {
	l.mu.Lock()
	l.until = 0
	l.mu.Unlock()
	if l.lock.ask(ctx, "EVAL", redismodel.CompareDel, "1", l.key, l.value) < l.Quorum() {
		return quorum.ErrNotHeld
	}
	return nil
}
