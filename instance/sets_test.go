//go:build unix

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// users checks that each key has one user at a time, and that tokens rise.
type users struct {
	mu   sync.Mutex
	by   map[string]string
	last map[string]fencing.Token
	uses int
}

func (u *users) enter(lease *quorum.Lease, who string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range lease.Keys() {
		if other := u.by[key]; other != "" {
			return fmt.Errorf("%s uses %q, which %s uses", who, key, other)
		}
		if lease.Token() <= u.last[key] {
			return fmt.Errorf("%s has the token %d of %q, after %d", who, lease.Token(), key, u.last[key])
		}
		u.by[key], u.last[key] = who, lease.Token()
	}
	u.uses++
	return nil
}

func (u *users) leave(lease *quorum.Lease) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range lease.Keys() {
		u.by[key] = ""
	}
}

// TestSetsOnRealServers has clients take overlapping sets of keys on three real servers, in any
// order, and single keys among them, while one server hangs, and another one is killed and started again.
// Afterwards nothing is left on the servers.
func TestSetsOnRealServers(t *testing.T) {
	t.Parallel() // it waits for quarantines most of the time
	durable := instancetest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}
	servers := instancetest.StartN(t, 3, durable)
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	const clients, turns = 5, 30
	all := []string{"a", "b", "c", "d", "e"}
	u := &users{by: map[string]string{}, last: map[string]fencing.Token{}}
	failed := make(chan error, 2*clients)
	var done, halfway sync.WaitGroup
	halfway.Add(clients)
	for client := range clients {
		group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, group.Close()) })
		locks, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: 4 * time.Second}, MaxTTL: 5 * time.Second, InstanceTimeout: 300 * time.Millisecond}, group.Instances()...)
		require.NoError(t, err)
		require.NoError(t, locks.Trust(t.Context()))
		done.Go(func() {
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				failed <- errors.Join(locks.Settle(ctx), locks.Close(ctx))
			}()
			random := rand.New(rand.NewPCG(uint64(client), 7))
			once := sync.OnceFunc(halfway.Done)
			defer once()
			for turn := range turns {
				if turn == turns/2 {
					once()
				}
				keys := make([]string, 0, 3)
				for _, i := range random.Perm(len(all))[:1+random.IntN(3)] {
					keys = append(keys, all[i])
				}
				err := locks.DoAll(t.Context(), keys, func(ctx context.Context, lease *quorum.Lease) error {
					if err := u.enter(lease, fmt.Sprint("client ", client)); err != nil {
						return err
					}
					defer u.leave(lease)
					select {
					case <-time.After(time.Duration(random.IntN(3000)) * time.Microsecond):
					case <-ctx.Done():
					}
					return nil
				})
				if err != nil && !errors.Is(err, quorum.ErrLost) && !errors.Is(err, quorum.ErrNotHeld) {
					failed <- err
					return
				}
			}
		})
	}
	servers[0].Pause()
	halfway.Wait()
	servers[0].Resume()
	servers[1].Restart()
	done.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	require.Equal(t, clients*turns, u.uses)
	for i, s := range servers {
		for _, key := range all {
			require.Equal(t, "$-1", strings.TrimSpace(s.MustAsk("GET", key)), "%q is left on server %d", key, i)
		}
	}
}
