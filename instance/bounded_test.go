//go:build unix

package instance_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// counterOn reads a resource's counter on a server.
func counterOn(t testing.TB, s *instancetest.Server, key string) fencing.Token {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(s.MustAsk("GET", instance.CounterKey(key)), "$"), 10, 64)
	require.NoError(t, err)
	return fencing.Token(n)
}

// clockOf reads a server's clock as a token.
func clockOf(t testing.TB, r *instance.Redis) fencing.Token {
	t.Helper()
	vote := r.Do(t.Context(), wire.Request{Op: wire.Tick})
	require.NoError(t, vote.Err)
	return fencing.Token(vote.Clock.UnixMicro())
}

// TestTokensRiseAtAnyRate: goroutines of one process take the lock as fast as a server on the same
// machine answers, each in its own round, which reserves as many tokens as possible. Then the
// server loses its data. Its clock is above all tokens that it gave.
func TestTokensRiseAtAnyRate(t *testing.T) {
	const (
		maxTTL  = 100 * time.Millisecond
		rounds  = 4_000
		workers = 8
	)
	s := instancetest.Start(t, instancetest.Config{Unix: true})
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, s.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, group.Close()) })
	var decided atomic.Int64
	enough := make(chan struct{})
	one, err := quorum.New(quorum.Config{
		Terms: quorum.Terms{TTL: maxTTL}, MaxTTL: maxTTL,
		Hooks: quorum.Hooks{RoundDecided: func(context.Context, quorum.RoundEnd) {
			if decided.Add(1) == rounds {
				close(enough)
			}
		}},
	}, group.Instances()...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = one.Close(context.Background()) })
	require.NoError(t, one.Trust(t.Context()))
	// A lease isn't handed to a waiter that wants another TTL.
	two, err := one.WithTerms(func(terms *quorum.Terms) { terms.TTL = maxTTL - time.Millisecond })
	require.NoError(t, err)

	ctx := t.Context()
	var last atomic.Uint64
	var done atomic.Bool
	work := func(c *quorum.Coordinator) error {
		lease, err := c.Acquire(ctx, "k")
		if err != nil {
			return err
		}
		if token := uint64(lease.Token()); token > last.Load() {
			last.Store(token) // it has the lock, or had it when it read the token
		}
		_ = lease.Release(ctx) // on a busy machine it may have expired
		return nil
	}
	require.NoError(t, work(one))
	var running sync.WaitGroup
	for i := range workers {
		c := []*quorum.Coordinator{one, two}[i%2]
		running.Go(func() {
			for !done.Load() {
				if err := work(c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(20 * time.Second): // a slow machine has fewer
	}
	done.Store(true)
	running.Wait()
	clock := clockOf(t, group.Members()[0])
	require.LessOrEqual(t, counterOn(t, s, "k"), clock+1, "reserved tokens have lifted it above the clock")

	s.Kill()
	s.Restart()
	lease, err := one.Acquire(ctx, "k") // waits for the quarantine's end
	require.NoError(t, err)
	require.Greater(t, uint64(lease.Token()), last.Load())
	_ = lease.Release(ctx) // as above
}
