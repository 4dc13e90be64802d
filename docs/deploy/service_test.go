//go:build unix

package deploy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
)

// One Service in front of three servers never gives a lock twice, because it soon gives none at
// all: docs/deploying.md says which errors show that.
func TestOneServiceInFront(t *testing.T) {
	servers := instancetest.StartN(t, 3, instancetest.Config{})
	addresses := make([]*redisproc.Link, 3)
	var urls []string
	for i := range addresses {
		var err error
		addresses[i], err = redisproc.NewLink(servers[0].Addr())
		require.NoError(t, err)
		defer func() { require.NoError(t, addresses[i].Close()) }()
		urls = append(urls, "redis://"+addresses[i].Addr())
	}
	opened, err := instance.OpenAll(instance.Config{}, urls...)
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close()) }()
	locks, err := quorum.New(quorum.Config{InstanceTimeout: 9 * time.Second, TTL: 20 * time.Second}, opened.Instances()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()

	// All connections happen to lead to one server.
	_ = locks.Trust(t.Context())
	_, err = locks.Verify(t.Context())
	require.ErrorIs(t, err, quorum.ErrDuplicate)
	_, err = locks.TryAcquire(t.Context(), "orders:42")
	require.ErrorIs(t, err, quorum.ErrDuplicate)

	// They happen to lead to three, and the fault doesn't show.
	lead := func(shift int) {
		for i, address := range addresses {
			address.Cut()
			address.Switch(servers[(i+shift)%3].Addr())
			address.Reopen()
		}
	}
	lead(0)
	require.Eventually(t, func() bool {
		_ = locks.Trust(t.Context())
		_, err := locks.Verify(t.Context())
		return err == nil
	}, 2*time.Minute, 10*time.Millisecond)
	lease, err := locks.TryAcquire(t.Context(), "orders:42")
	require.NoError(t, err)

	// New connections lead elsewhere: nothing is extended, and no other client gets the lock.
	lead(1)
	require.Error(t, lease.Extend(t.Context()))
	require.Eventually(t, func() bool { // at first connections break
		_, err := locks.TryAcquire(t.Context(), "orders:43")
		require.Error(t, err)
		return errors.Is(err, quorum.ErrOtherRun) || errors.Is(err, quorum.ErrQuarantined)
	}, 2*time.Minute, 10*time.Millisecond)
}
