package memory_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/quorumtest/contract"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fresh is the URL of a server that no other test uses.
func fresh() string { return "memory://" + rand.Text() }

func open(t *testing.T, urls ...string) *quorum.Coordinator {
	t.Helper()
	instances, err := memory.Open(urls...)
	require.NoError(t, err)
	// Much time for a busy machine.
	locks, err := quorum.New(quorum.Config{TTL: 30 * time.Second, InstanceTimeout: 10 * time.Second}, instances...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locks.Close(context.Background())) })
	return locks
}

func server(t *testing.T) wire.Instance {
	instances, err := memory.Open(fresh())
	require.NoError(t, err)
	return instances[0]
}

func TestContractInVirtualTime(t *testing.T) {
	contract.Check(t, server, contract.Virtual())
}

func TestURLs(t *testing.T) {
	const secret = "s3cr3t"
	for says, urls := range map[string][]string{
		"URL 2 of 2: after":       {"memory://a", "memory://user:" + secret + "@b"},
		"digits and . _ -":        {"memory://a/"},
		"up to 64 letters":        {"memory://" + strings.Repeat("a", 65)},
		"1 of 3 URLs are memory:": {"redis://:" + secret + "@a", "memory://b", "redis://c"},
	} {
		instances, err := memory.Open(urls...)
		require.ErrorIs(t, err, quorum.ErrConfig)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), secret)
		require.Nil(t, instances)
	}
	for _, urls := range [][]string{nil, {"redis://a", "memory"}} {
		instances, err := memory.Open(urls...)
		require.NoError(t, err)
		require.Nil(t, instances, "others open these")
	}
	instances, err := memory.Open("memory://", "MEMORY://Team-a.1_b")
	require.NoError(t, err)
	require.Equal(t, []string{"memory://", "memory://team-a.1_b"}, []string{instances[0].Name(), instances[1].Name()})
	twice, err := memory.Open("memory://a", "memory://b", "memory://a")
	require.NoError(t, err)
	_, err = quorum.New(quorum.Config{}, twice...)
	require.ErrorIs(t, err, quorum.ErrDuplicate)
}

// A lease is on the server and not in the client: it keeps others out when its client is closed.
func TestClientsOfOneNameShareTheServer(t *testing.T) {
	a, b, c := fresh(), fresh(), fresh()
	first := open(t, a, b, c)
	lease, err := first.TryAcquire(t.Context(), "k")
	require.NoError(t, err, "a server that has forgotten nothing votes at once")
	handle, err := lease.HandOff(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Close(t.Context()))

	second := open(t, a, b, c)
	_, err = second.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrTaken)
	_, err = open(t, fresh(), fresh(), fresh()).TryAcquire(t.Context(), "k")
	require.NoError(t, err, "other names are other servers")
	lease, err = second.Resume(t.Context(), handle)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	next, err := second.TryAcquire(t.Context(), "k")
	require.NoError(t, err)
	require.Greater(t, next.Token(), lease.Token())
	require.NoError(t, next.Release(t.Context()))

	report, err := second.Verify(t.Context())
	require.NoError(t, err)
	for _, r := range report.Instances {
		require.Contains(t, r.Name, "memory://")
		require.Contains(t, strings.Join(r.Notes, ""), "no other process sees these locks")
	}
}

// Many goroutines of two clients take turns, and nothing but a notification wakes those of the other
// client in time.
func TestManyGoroutinesOnOneLock(t *testing.T) {
	url := fresh()
	clients := []*quorum.Coordinator{open(t, url), open(t, url)}
	var all sync.WaitGroup
	var inside, turns atomic.Int64
	var last fencing.Token
	for i := range 1000 {
		all.Go(func() {
			err := clients[i%2].Do(t.Context(), "k", func(_ context.Context, lease *quorum.Lease) error {
				if inside.Add(1) != 1 {
					return errors.New("two are inside")
				}
				defer inside.Add(-1)
				turns.Add(1)
				if lease.Token() <= last {
					return fmt.Errorf("token %d after %d", lease.Token(), last)
				}
				last = lease.Token()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1000, turns.Load())
}
