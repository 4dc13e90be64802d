package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// bare is the simplest design: SET NX PX on one server, and compare-and-delete for the release.
type bare struct {
	p   simulation.Process
	ttl time.Duration
}

type bareLease struct {
	*bare
	key, value string
	until      time.Time
}

func (b *bare) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	until := b.p.Config.Clock.Now().Add(b.ttl)
	value := b.p.Name + until.Format(time.RFC3339Nano)
	reply, err := b.p.Redis[0].Do(ctx, "SET", key, value, "NX", "PX", "10000")
	switch {
	case err != nil:
		return nil, err
	case reply.Err != nil || reply.Null:
		return nil, quorum.ErrTaken
	}
	return &bareLease{bare: b, key: key, value: value, until: until}, nil
}

func (b *bare) Acquire(ctx context.Context, key string) (simulation.Lease, error) {
	for ctx.Err() == nil {
		if lease, err := b.TryAcquire(ctx, key); err == nil {
			return lease, nil
		}
		b.p.Config.Clock.Sleep(time.Second)
	}
	return nil, ctx.Err()
}

func (b *bare) Close(context.Context) error { return nil }

func (l *bareLease) Key() string             { return l.key }
func (l *bareLease) Value() string           { return l.value }
func (l *bareLease) Token() fencing.Token    { return 0 }
func (l *bareLease) Quorum() int             { return 1 }
func (l *bareLease) Validity() time.Duration { return l.p.Config.Clock.Until(l.until) }

func (l *bareLease) Extend(ctx context.Context) error {
	until := l.p.Config.Clock.Now().Add(l.ttl)
	reply, err := l.p.Redis[0].Do(ctx, "COMPAREEXPIRE", l.key, l.value, "10000")
	if err == nil && reply.Int != 1 {
		err = quorum.ErrLost
	}
	if err == nil {
		l.until = until
	}
	return err
}

func (l *bareLease) Release(ctx context.Context) error {
	reply, err := l.p.Redis[0].Do(ctx, "COMPAREDEL", l.key, l.value)
	if err == nil && reply.Int != 1 {
		err = quorum.ErrNotHeld
	}
	return err
}

func bareConfig() simulation.Config {
	return simulation.Config{Servers: 1, Witness: true, Locker: func(p simulation.Process) (simulation.Locker, error) {
		return &bare{p: p, ttl: 10 * time.Second}, nil
	}}
}

// The library and Redis commands work on the same data.
func TestLibraryAndCommandsShareData(t *testing.T) {
	cfg := simulation.Config{Servers: 1, Processes: 1}
	var redis simulation.Redis
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		redis = p.Redis[0]
		return simulation.Library(p)
	}
	r := run(t, 1, cfg, nil, func(c *simulation.Client) {
		do := func(args ...string) redismodel.Reply {
			reply, err := redis.Do(c.Context(), args...)
			require.NoError(t, err)
			require.NoError(t, reply.Err)
			return reply
		}
		require.Equal(t, "OK", do("SET", key, "mine", "NX", "PX", "10000").Text)
		_, err := c.TryAcquire(key)
		require.ErrorIs(t, err, quorum.ErrTaken)
		require.EqualValues(t, 1, do("COMPAREDEL", key, "mine").Int)
		lease, err := c.TryAcquire(key)
		require.NoError(t, err)
		require.Equal(t, lease.Value(), do("GET", key).Text)
		require.True(t, do("SET", key, "mine", "NX", "PX", "10000").Null)
		require.NoError(t, c.Release(lease))
		require.Zero(t, do("EXISTS", key).Int)
	})
	require.Empty(t, r.Log.Violations())
}

// A design that retries forever, and ignores its context, doesn't hang the run when its process
// crashes.
func TestLoopsOfACrashedProcessEnd(t *testing.T) {
	cfg := bareConfig()
	cfg.Processes = 1
	r := run(t, 1, cfg, simulation.Schedule{{Kind: fault.Crash, Process: "c1", Op: "read", Nth: 1}}, func(c *simulation.Client) {
		lease, err := c.TryAcquire(key)
		if err != nil {
			return
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for lease.Release(context.Background()) != nil || c.Incarnation == 0 {
				c.Clock().Sleep(time.Second)
			}
		}()
		_, _, _ = c.Read(lease) // it crashes here
		<-ended
	})
	assert.Equal(t, 1, r.Log.Counts()["a process crashed"])
	assert.Empty(t, r.Log.Violations())
}

// odd is a Locker that breaks its contract.
type odd struct {
	simulation.Locker
	lease simulation.Lease
}

func (o odd) TryAcquire(context.Context, string) (simulation.Lease, error) { return o.lease, nil }

type uncomparable struct {
	*bareLease
	_ []int
}

func TestLockersThatBreakTheContractAreFound(t *testing.T) {
	for want, lease := range map[string]simulation.Lease{
		"neither a lease nor an error": nil,
		"can't be compared":            uncomparable{bareLease: &bareLease{}},
	} {
		cfg := bareConfig()
		cfg.Witness = false
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			return odd{Locker: &bare{p: p}, lease: lease}, nil
		}
		r := run(t, 1, cfg, nil, func(c *simulation.Client) { take(c) })
		require.Equal(t, []record.ViolationKind{record.Panicked}, r.Kinds())
		assert.Contains(t, r.Log.Violations()[0].Text, want)
	}
	// The same for a workload that uses a foreign lease.
	r := run(t, 1, simulation.Config{Processes: 1}, nil, func(c *simulation.Client) {
		lease, err := c.Coordinator.TryAcquire(c.Context(), key)
		require.NoError(t, err)
		_ = c.Write(lease, 1, 0)
	})
	require.Equal(t, []record.ViolationKind{record.Panicked}, r.Kinds())
	assert.Contains(t, r.Log.Violations()[0].Text, "no check knows it")
}
