//go:build unix

package migrating_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	client "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	ours "github.com/redquorum/redlock/quorum/adapters/redsync"
	oursgoredis "github.com/redquorum/redlock/quorum/adapters/redsync/redis/goredis/v9"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ship is what the lock protects. It refuses no token here, and notes them.
func ship(ctx context.Context, token fencing.Token) error {
	shipped.Add(1)
	lastToken.Store(uint64(token))
	return ctx.Err()
}

var (
	shipped   atomic.Int32
	lastToken atomic.Uint64
)

func redsyncBefore(ctx context.Context, rs *redsync.Redsync) error {
	mutex := rs.NewMutex("orders/42", redsync.WithExpiry(10*time.Second))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	err := ship(ctx, 0) // nothing tells it after 10 s that the lock is gone
	_, unlocked := mutex.UnlockContext(ctx)
	return errors.Join(err, unlocked)
}

func redsyncAfter(ctx context.Context, locks *quorum.Coordinator) error {
	return locks.Do(ctx, "orders/42", func(ctx context.Context, lease *quorum.Lease) error {
		return ship(ctx, lease.Token()) // the lease is kept alive; ctx ends if it is lost
	})
}

func redislockBefore(ctx context.Context, locker *redislock.Client) error {
	lock, err := locker.Obtain(ctx, "orders/42", 10*time.Second, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil // another process does it
	}
	if err != nil {
		return err
	}
	err = ship(ctx, 0)
	return errors.Join(err, lock.Release(ctx))
}

func redislockAfter(ctx context.Context, locks *quorum.Coordinator) error {
	lease, err := locks.TryAcquire(ctx, "orders/42")
	if errors.Is(err, quorum.ErrTaken) {
		return nil // another process does it
	}
	if err != nil {
		return err
	}
	lease.KeepAlive() // redislock has Refresh, to be called in time
	err = ship(lease.Within(ctx), lease.Token())
	return errors.Join(err, lease.Release(ctx))
}

func rueidislockBefore(ctx context.Context, locker rueidislock.Locker) error {
	held, cancel, err := locker.WithContext(ctx, "orders/42")
	if err != nil {
		return err
	}
	defer cancel() // which also releases the lock, and says nothing
	return ship(held, 0)
}

func rueidislockAfter(ctx context.Context, locks *quorum.Coordinator) error {
	lease, err := locks.Acquire(ctx, "orders/42")
	if err != nil {
		return err
	}
	lease.KeepAlive()
	err = ship(lease.Within(ctx), lease.Token())
	return errors.Join(err, lease.Release(ctx))
}

func redissonAfter(ctx context.Context, locks *quorum.Coordinator) error {
	locks, err := locks.WithTerms(func(t *quorum.Terms) { t.MaxWait = 5 * time.Second })
	if err != nil {
		return err
	}
	err = locks.Do(ctx, "orders/42", func(ctx context.Context, lease *quorum.Lease) error {
		return ship(ctx, lease.Token())
	})
	if errors.Is(err, quorum.ErrExhausted) && errors.Is(err, quorum.ErrTaken) {
		return nil // another process has had it for 5 s; ErrExhausted alone may be an outage
	}
	return err
}

func etcdElectionAfter(ctx context.Context, locks *quorum.Coordinator) error {
	// locks was made with quorum.Config{Owner: address}, which the others see.
	e, err := election.New(locks, "scheduler", election.Config{})
	if err != nil {
		return err
	}
	return e.Run(ctx, lead) // campaigns again if the term is lost
}

// lead is what the leader does until ctx ends.
func lead(ctx context.Context, term fencing.Token) error { return ship(ctx, term) }

// After 5 s another process still has the lock: the work is its. But if the servers are down nobody works,
// which is an error.
func TestRedissonAfterInAnOutage(t *testing.T) {
	for _, down := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := quorumtest.NewServers(3)
			for _, s := range all {
				if s.Put("orders/42", "another process", wire.NoExpiry); down {
					s.Kill()
				}
			}
			locks, err := quorum.New(quorum.Config{}, all.Instances()...)
			require.NoError(t, err)
			defer func() { assert.NoError(t, locks.Close(context.Background())) }()
			before := shipped.Load()
			err = redissonAfter(t.Context(), locks)
			require.Equal(t, before, shipped.Load())
			if down {
				require.ErrorIs(t, err, quorum.ErrNoQuorum)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// lasts and patience are for a busy machine.
const (
	lasts    = 20 * time.Second
	patience = 5 * time.Second
)

func config() quorum.Config {
	return quorum.Config{TTL: lasts, InstanceTimeout: patience}
}

// patiently are the options of a mutex of redsync's.
func patiently() redsync.Option {
	return redsync.OptionFunc(func(m *redsync.Mutex) {
		redsync.WithExpiry(lasts).Apply(m)
		redsync.WithTimeoutFactor(float64(patience) / float64(lasts)).Apply(m)
	})
}

// servers are three real servers, and what each library makes of them.
type servers struct {
	all     []*instancetest.Server
	clients []*client.Client
	locks   *quorum.Coordinator
}

func start(t *testing.T) *servers {
	t.Helper()
	s := &servers{all: instancetest.StartN(t, 3, instancetest.Config{})} // skips the test where there is no redis-server
	var urls []string
	for _, server := range s.all {
		c := client.NewClient(&client.Options{Addr: server.Addr(), DialTimeout: patience, ReadTimeout: 2 * patience, WriteTimeout: 2 * patience})
		t.Cleanup(func() { assert.NoError(t, c.Close()) })
		s.clients = append(s.clients, c)
		urls = append(urls, "redis://"+server.Addr())
	}
	group, err := instance.OpenAll(instance.Config{}, urls...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, group.Close()) })
	s.locks, err = quorum.New(config(), group.Instances()...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.locks.Close(context.Background())) })
	require.NoError(t, s.locks.Trust(t.Context())) // they have just been started
	return s
}

// redsync's own.
func (s *servers) redsync() *redsync.Redsync {
	var pools []redis.Pool
	for _, c := range s.clients {
		pools = append(pools, goredis.NewPool(c))
	}
	return redsync.New(pools...)
}

// adapter is the one in its place.
func (s *servers) adapter(t *testing.T) *ours.Redsync {
	t.Helper()
	var pools []wire.Instance
	for _, c := range s.clients {
		server, closing, err := oursgoredis.NewPool(c).Open()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, closing()) })
		pools = append(pools, server)
	}
	locks, err := quorum.New(config(), pools...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locks.Close(context.Background())) })
	require.NoError(t, locks.Trust(t.Context()))
	return ours.On(locks)
}

// awaitFree waits until no server has the key: a request that had no answer in time may leave it for a while.
func (s *servers) awaitFree(t *testing.T) {
	t.Helper()
	require.NoError(t, s.locks.Settle(t.Context()))
	for _, c := range s.clients {
		require.Eventually(t, func() bool {
			n, err := c.Exists(t.Context(), "orders/42").Result()
			return err == nil && n == 0
		}, time.Minute, time.Millisecond)
	}
}

// Each call and its counterpart do the work, with a token where there is one.
func TestBeforeAndAfter(t *testing.T) {
	s := start(t)
	rueidisLocker, err := rueidislock.NewLocker(rueidislock.LockerOption{KeyMajority: 1, ClientOption: rueidis.ClientOption{InitAddress: []string{s.all[0].Addr()}}})
	require.NoError(t, err)
	defer rueidisLocker.Close()
	on := func(f func(context.Context, *quorum.Coordinator) error) func(context.Context) error {
		return func(ctx context.Context) error { return f(ctx, s.locks) }
	}
	var token uint64
	for _, c := range []struct {
		name   string
		call   func(context.Context) error
		tokens bool
	}{
		{"redsync", func(ctx context.Context) error { return redsyncBefore(ctx, s.redsync()) }, false},
		{"redsync, after", on(redsyncAfter), true},
		{"redislock", func(ctx context.Context) error { return redislockBefore(ctx, redislock.New(s.clients[0])) }, false},
		{"redislock, after", on(redislockAfter), true},
		{"rueidislock", func(ctx context.Context) error { return rueidislockBefore(ctx, rueidisLocker) }, false},
		{"rueidislock, after", on(rueidislockAfter), true},
		{"Redisson, after", on(redissonAfter), true},
	} {
		s.awaitFree(t) // redislock asks one of the three servers
		before := shipped.Load()
		require.NoError(t, c.call(t.Context()), c.name)
		require.Equal(t, before+1, shipped.Load(), c.name)
		if now := lastToken.Load(); c.tokens {
			require.Greater(t, now, token, c.name)
			token = now
		}
	}
	before := shipped.Load()
	require.NoError(t, etcdElectionAfter(t.Context(), s.locks))
	require.Equal(t, before+1, shipped.Load())

	s.awaitFree(t)
	lease, err := s.locks.TryAcquire(t.Context(), "orders/42")
	require.NoError(t, err)
	require.NoError(t, s.locks.Settle(t.Context()))
	before = shipped.Load()
	require.NoError(t, redislockAfter(t.Context(), s.locks))
	require.NoError(t, redislockBefore(t.Context(), redislock.New(s.clients[0])))
	require.Equal(t, before, shipped.Load(), "another process does it")
	require.NoError(t, lease.Release(t.Context()))
}

// During the move both lock the same names, and exclude each other.
func TestRedsyncAndTheAdapterExcludeEachOther(t *testing.T) {
	s := start(t)
	theirs, adapter := s.redsync().NewMutex("k", patiently()), s.adapter(t).NewMutex("k")
	require.NoError(t, theirs.Lock())
	var taken *ours.ErrTaken
	require.ErrorAs(t, adapter.TryLock(), &taken)
	_, err := theirs.Unlock()
	require.NoError(t, err)
	require.NoError(t, adapter.Lock())
	var theirTaken *redsync.ErrTaken
	require.ErrorAs(t, theirs.TryLock(), &theirTaken)
	ok, err := adapter.Unlock()
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, theirs.TryLock())
	_, err = theirs.Unlock()
	require.NoError(t, err)
}

// mutex is what programs call.
type mutex interface {
	TryLock() error
	Unlock() (bool, error)
	Extend() (bool, error)
	Valid() (bool, error)
	Name() string
	Value() string
	Until() time.Time
}

// outcome is what a program can tell of a result.
type outcome struct {
	ok                     bool
	failed, taken, expired bool
}

// In the same situations a program that was written for redsync sees the same.
func TestTheAdapterEndsAsRedsyncDoes(t *testing.T) {
	s := start(t)
	rs, adapter := s.redsync(), s.adapter(t)
	see := func(ok bool, err error) outcome {
		var theirs *redsync.ErrTaken
		var taken *ours.ErrTaken
		return outcome{
			ok:      ok && err == nil,
			failed:  err != nil,
			taken:   errors.As(err, &theirs) || errors.As(err, &taken),
			expired: errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.Is(err, ours.ErrLockAlreadyExpired),
		}
	}
	seeErr := func(err error) outcome { return see(err == nil, err) }
	deleteAll := func(key string) {
		for _, c := range s.clients {
			require.NoError(t, c.Del(t.Context(), key).Err())
		}
	}
	situations := map[string]func(m, rival mutex) outcome{
		"locked":          func(m, _ mutex) outcome { return seeErr(m.TryLock()) },
		"locked twice":    func(m, _ mutex) outcome { _ = m.TryLock(); return seeErr(m.TryLock()) },
		"taken":           func(m, rival mutex) outcome { _ = rival.TryLock(); return seeErr(m.TryLock()) },
		"unlocked":        func(m, _ mutex) outcome { _ = m.TryLock(); return see(m.Unlock()) },
		"unlocked twice":  func(m, _ mutex) outcome { _ = m.TryLock(); _, _ = m.Unlock(); return see(m.Unlock()) },
		"never locked":    func(m, _ mutex) outcome { return see(m.Unlock()) },
		"gone":            func(m, _ mutex) outcome { _ = m.TryLock(); deleteAll(m.Name()); return see(m.Unlock()) },
		"extended":        func(m, _ mutex) outcome { _ = m.TryLock(); return see(m.Extend()) },
		"extended, gone":  func(m, _ mutex) outcome { _ = m.TryLock(); deleteAll(m.Name()); return see(m.Extend()) },
		"valid":           func(m, _ mutex) outcome { _ = m.TryLock(); return see(m.Valid()) },
		"valid, gone":     func(m, _ mutex) outcome { _ = m.TryLock(); deleteAll(m.Name()); return see(m.Valid()) },
		"valid, unlocked": func(m, _ mutex) outcome { return see(m.Valid()) },
		"has a value": func(m, _ mutex) outcome {
			_ = m.TryLock()
			return outcome{ok: m.Value() != "" && m.Until().After(time.Now())}
		},
		"has no value yet": func(m, _ mutex) outcome { return outcome{ok: m.Value() == "" && m.Until().IsZero()} },
	}
	for name, play := range situations {
		theirs := play(rs.NewMutex("theirs "+name, patiently()), rs.NewMutex("theirs "+name, patiently()))
		mine := play(adapter.NewMutex("ours "+name), adapter.NewMutex("ours "+name))
		assert.Equal(t, theirs, mine, name)
	}
}
