//go:build unix

package deploy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// service is an address in front of several servers, as a Kubernetes Service is: each
// connection leads to one of them.
type service struct {
	listener net.Listener
	mu       sync.Mutex
	target   string
	open     []net.Conn
}

func startService(t *testing.T, target string) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &service{listener: listener, target: target}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		s.lead("")
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			server, err := net.Dial("tcp", s.target)
			if err != nil {
				_ = client.Close()
			} else {
				s.open = append(s.open, client, server)
				running.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
				running.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
			}
			s.mu.Unlock()
		}
	})
	return s
}

// lead switches new connections to another server, and closes the others.
func (s *service) lead(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = target
	for _, conn := range s.open {
		_ = conn.Close()
	}
	s.open = nil
}

// One Service in front of three servers never gives a lock twice, because it soon gives none at
// all: docs/deploying.md says which errors show that.
func TestOneServiceInFront(t *testing.T) {
	servers := instancetest.StartN(t, 3, instancetest.Config{})
	addresses := make([]*service, 3)
	var urls []string
	for i := range addresses {
		addresses[i] = startService(t, servers[0].Addr())
		urls = append(urls, "redis://"+addresses[i].listener.Addr().String())
	}
	opened, err := instance.OpenAll(instance.Config{}, urls...)
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close()) }()
	locks, err := quorum.New(quorum.Config{InstanceTimeout: 4 * time.Second}, opened.Instances()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()

	// All connections happen to lead to one server.
	_ = locks.Trust(t.Context())
	_, err = locks.Verify(t.Context())
	require.ErrorIs(t, err, quorum.ErrDuplicate)
	_, err = locks.TryAcquire(t.Context(), "orders:42")
	require.ErrorIs(t, err, quorum.ErrDuplicate)

	// They happen to lead to three, and the fault doesn't show.
	for i, address := range addresses {
		address.lead(servers[i].Addr())
	}
	require.Eventually(t, func() bool {
		_ = locks.Trust(t.Context())
		_, err := locks.Verify(t.Context())
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	lease, err := locks.TryAcquire(t.Context(), "orders:42")
	require.NoError(t, err)

	// New connections lead elsewhere: nothing is extended, and no other client gets the lock.
	for i, address := range addresses {
		address.lead(servers[(i+1)%3].Addr())
	}
	require.Error(t, lease.Extend(t.Context()))
	require.Eventually(t, func() bool { // at first connections break
		_, err := locks.TryAcquire(t.Context(), "orders:43")
		require.Error(t, err)
		return errors.Is(err, quorum.ErrOtherRun) || errors.Is(err, quorum.ErrQuarantined)
	}, 20*time.Second, 10*time.Millisecond)
}
