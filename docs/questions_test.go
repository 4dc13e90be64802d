package docs_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// These tests make the calls of "From other lock libraries" in migrating.md, in virtual time. Passwords, names
// of servers and redlockctl have tests of their own: instance/credentials_test.go, instance/link_test.go,
// instance/cmd/redlockctl.

const question = "orders:42"

// asked plays an answer with a client of three servers. A second client on them is there to compete.
func asked(t *testing.T, cfg quorum.Config, answer func(t *testing.T, locks, others *quorum.Coordinator, servers []*quorumtest.Server)) {
	synctest.Test(t, func(t *testing.T) {
		locks, servers := locksInMemory(t)
		instances := make([]wire.Instance, len(servers))
		for i, s := range servers {
			instances[i] = s
		}
		mine, err := quorum.New(cfg, instances...)
		require.NoError(t, err)
		require.NoError(t, mine.Trust(t.Context()))
		answer(t, mine, locks, servers)
		require.NoError(t, mine.Close(context.Background()))
		require.NoError(t, locks.Close(context.Background()))
	})
}

func TestExtensionsHaveACap(t *testing.T) {
	asked(t, quorum.Config{KeepAlive: true, MaxLife: 15 * time.Minute}, func(t *testing.T, locks, _ *quorum.Coordinator, _ []*quorumtest.Server) {
		began := time.Now()
		lease, err := locks.Acquire(t.Context(), question)
		require.NoError(t, err)
		<-lease.Done()
		require.ErrorIs(t, lease.Err(), quorum.ErrExpired)
		require.InDelta(t, 15*time.Minute, time.Since(began), float64(locks.Config().TTL))
		require.LessOrEqual(t, time.Since(began), 15*time.Minute)
	})
	asked(t, quorum.Config{MaxLife: 15 * time.Second}, func(t *testing.T, locks, _ *quorum.Coordinator, _ []*quorumtest.Server) {
		lease, err := locks.Acquire(t.Context(), question)
		require.NoError(t, err)
		time.Sleep(9 * time.Second)
		require.NoError(t, lease.Extend(t.Context()))
		require.LessOrEqual(t, lease.Validity(), 6*time.Second)
		require.ErrorIs(t, lease.Extend(t.Context()), quorum.ErrNotExtended)
	})
}

func TestALossIsTold(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, _ *quorum.Coordinator, servers []*quorumtest.Server) {
		lease, err := locks.Acquire(t.Context(), question)
		require.NoError(t, err)
		ctx, began := lease.Within(t.Context()), time.Now()
		for _, s := range servers {
			s.Delete(question)
		}
		require.Error(t, lease.Extend(t.Context()))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), quorum.ErrLost)
		require.Less(t, time.Since(began), time.Second)
	})
	asked(t, quorum.Config{}, func(t *testing.T, locks, _ *quorum.Coordinator, servers []*quorumtest.Server) {
		lease, err := locks.Acquire(t.Context(), question)
		require.NoError(t, err)
		lease.KeepAlive()
		ctx, began, left := lease.Within(t.Context()), time.Now(), lease.Validity()
		for _, s := range servers {
			s.Hang()
		}
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), quorum.ErrExpired)
		require.Equal(t, left, time.Since(began), "at the deadline")
		for _, s := range servers {
			s.Resume()
		}
	})
}

func TestReleaseWorksOnACancelledContext(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, _ *quorum.Coordinator, servers []*quorumtest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := locks.Acquire(ctx, question)
		require.NoError(t, err)
		cancel()
		require.NoError(t, lease.Release(ctx))
		ctx, cancel = context.WithCancel(t.Context())
		require.ErrorIs(t, locks.Do(ctx, question, func(ctx context.Context, _ *quorum.Lease) error {
			cancel()
			return ctx.Err()
		}), context.Canceled)
		require.NoError(t, locks.Settle(t.Context()))
		for _, s := range servers {
			require.Empty(t, s.Keys())
		}
	})
}

func TestABareMajorityIsToppedUp(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, _ *quorum.Coordinator, servers []*quorumtest.Server) {
		servers[2].Kill()
		lease, err := locks.Acquire(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, []string{"A", "B"}, lease.Instances())
		servers[2].Start(true)
		require.NoError(t, lease.Extend(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"A", "B", "C"}, lease.Instances())
		require.NoError(t, lease.Release(t.Context()))
	})
}

func TestTakenAndOutageAreTwoErrors(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, others *quorum.Coordinator, servers []*quorumtest.Server) {
		lease, err := others.Acquire(t.Context(), question)
		require.NoError(t, err)
		_, err = locks.TryAcquire(t.Context(), question)
		require.ErrorIs(t, err, quorum.ErrTaken)
		require.NotErrorIs(t, err, quorum.ErrNoQuorum)
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, others.Settle(t.Context()), "the third server, too, has deleted the key")

		servers[0].Kill()
		servers[1].Kill()
		_, err = locks.TryAcquire(t.Context(), question)
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.NotErrorIs(t, err, quorum.ErrTaken)
		var round *quorum.RoundError
		require.True(t, errors.As(err, &round))
		require.Len(t, round.Votes, 3)
		require.ErrorIs(t, round.Votes[0].Vote.Err, quorumtest.ErrConnRefused)
	})
}

func TestReleaseOfAnExpiredLease(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, others *quorum.Coordinator, _ []*quorumtest.Server) {
		lease, err := locks.Acquire(t.Context(), question)
		require.NoError(t, err)
		time.Sleep(locks.Config().TTL)
		next, err := others.TryAcquire(t.Context(), question)
		require.NoError(t, err)
		require.ErrorIs(t, lease.Release(t.Context()), quorum.ErrNotHeld)
		require.NoError(t, next.Extend(t.Context()), "the next holder keeps its lock")
		require.NoError(t, next.Release(t.Context()))
	})
}

func TestDataUnderTheNameOfALock(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, _ *quorum.Coordinator, servers []*quorumtest.Server) {
		for _, s := range servers {
			s.Put(question, "data", wire.NoExpiry)
		}
		_, err := locks.TryAcquire(t.Context(), question)
		require.ErrorIs(t, err, quorum.ErrTaken)
		for _, s := range servers {
			value, _, _ := s.Get(question)
			require.Equal(t, "data", value)
			s.Delete(question)
		}
		lease, err := locks.TryAcquire(t.Context(), question)
		require.NoError(t, err)
		for _, s := range servers {
			s.Put(question, "data", wire.NoExpiry)
		}
		require.ErrorIs(t, lease.Extend(t.Context()), quorum.ErrLost)
	})
}

func TestOrderOfAShutdown(t *testing.T) {
	asked(t, quorum.Config{}, func(t *testing.T, locks, others *quorum.Coordinator, servers []*quorumtest.Server) {
		forgotten, err := locks.Acquire(t.Context(), "forgotten")
		require.NoError(t, err)
		ctx := forgotten.Context()
		held, err := others.Acquire(t.Context(), question)
		require.NoError(t, err)
		waited, worked := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := locks.Acquire(t.Context(), question)
			waited <- err
		}()
		go func() {
			worked <- locks.Do(t.Context(), "work", func(ctx context.Context, _ *quorum.Lease) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		require.NoError(t, locks.Close(t.Context()))
		require.ErrorIs(t, <-waited, quorum.ErrClosed)
		require.ErrorIs(t, <-worked, quorum.ErrClosed)
		require.ErrorIs(t, context.Cause(ctx), quorum.ErrClosed)
		require.NoError(t, held.Release(t.Context()))
		require.NoError(t, others.Settle(t.Context()))
		for _, s := range servers {
			require.Equal(t, []string{"forgotten"}, s.Keys(), "it expires")
		}
	})
}
