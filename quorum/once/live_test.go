//go:build unix

package once_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
)

// Four processes on three real servers, one of which is killed: each slot's job is begun at most
// once, and on a healthy majority it is begun.
func TestOnRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	servers := instancetest.StartN(t, 3, instancetest.Config{}) // skips the test where there is no redis-server
	var urls []string
	for _, s := range servers {
		urls = append(urls, "redis://"+s.Addr())
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		begun = map[time.Time]int{}
	)
	for i := range 4 {
		group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, group.Close()) }()
		// Much time for a busy machine. A server that was killed refuses at once.
		cfg := quorum.Config{TTL: 20 * time.Second, InstanceTimeout: 5 * time.Second, Owner: fmt.Sprint("process-", i)}
		locks, err := quorum.New(cfg, group.Instances()...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, locks.Close(context.Background())) }()
		require.NoError(t, locks.Trust(t.Context())) // they have just been started
		job, err := once.New(locks, "live", once.Config{})
		require.NoError(t, err)
		slots, err := job.Slots(ctx, time.Second)
		require.NoError(t, err)
		all.Go(func() {
			for slot := range slots {
				err := job.Run(ctx, slot, func(context.Context, *quorum.Lease) error {
					mu.Lock()
					defer mu.Unlock()
					begun[slot]++
					switch len(begun) {
					case 2:
						servers[0].Kill()
					case 5:
						stop()
					}
					return nil
				})
				if err != nil && !errors.Is(err, once.ErrLate) && ctx.Err() == nil {
					assert.ErrorIs(t, err, once.ErrDone)
				}
			}
		})
	}
	all.Wait()
	require.GreaterOrEqual(t, len(begun), 5, "within two minutes")
	for slot, times := range begun {
		assert.Equal(t, 1, times, "%s", slot)
	}
}
