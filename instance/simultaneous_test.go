//go:build unix

package instance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// Of clients that try at once on real servers exactly one gets the lock, and all others are told that it is taken. Package
// simulation plays many more tries.
func TestOneOfThoseThatTryAtOnceGetsTheLock(t *testing.T) {
	tries, jitters := 10, []time.Duration{0, 5 * time.Millisecond}
	if os.Getenv("REDLOCK_LONG") != "" {
		tries, jitters = 25, []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}
	}
	ctx := context.Background()
	var urls []string
	for range 5 {
		urls = append(urls, instancetest.Start(t, instancetest.Config{}).URL()+"?dial_timeout=15s")
	}
	locks := make([]*quorum.Coordinator, 20)
	for i := range locks {
		c, err := redlock.Open(quorum.Config{TTL: time.Minute, MaxTTL: 2 * time.Minute, InstanceTimeout: 15 * time.Second, Owner: fmt.Sprint("client", i)}, urls...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close(ctx)) })
		require.NoError(t, c.Trust(ctx))
		locks[i] = c
	}
	for _, clients := range []int{3, 20} {
		for _, jitter := range jitters {
			t.Run(fmt.Sprintf("%d clients within %v", clients, jitter), func(t *testing.T) {
				for n := range tries {
					key := fmt.Sprintf("%s/%d", t.Name(), n)
					leases, errs := make([]*quorum.Lease, clients), make([]error, clients)
					start := make(chan struct{})
					var all sync.WaitGroup
					for i := range clients {
						pause := rand.N(jitter + 1)
						all.Go(func() {
							<-start
							time.Sleep(pause)
							leases[i], errs[i] = locks[i].TryAcquire(ctx, key)
						})
					}
					close(start)
					all.Wait()
					winners := 0
					for i, lease := range leases {
						if errs[i] != nil {
							assert.ErrorIs(t, errs[i], quorum.ErrTaken, "try %d", n)
							continue
						}
						winners++
						assert.NoError(t, lease.Release(ctx), "try %d", n)
					}
					require.Equal(t, 1, winners, "try %d", n)
				}
			})
		}
	}
}
