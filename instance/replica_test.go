//go:build unix

package instance_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// A master gets its first replica while clients take locks. It draws another replication ID, so none
// of its votes counts for a MaxTTL, neither with a client that knew it nor with one that starts. The
// other servers are a majority, and continue.
func TestFirstReplicaUnderLoad(t *testing.T) {
	t.Parallel() // it waits most of the time
	patiently(t, 4*time.Second, func(story *story) {
		servers := instancetest.StartN(t, 4, instancetest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}})
		client := func() client {
			var insts []wire.Instance
			for i, name := range []string{"a", "b", "c"} {
				insts = append(insts, named(t, name, servers[i].Addr()))
			}
			return starting(t, story.ttl, nil, insts...)
		}
		type turn struct {
			from, to time.Time
			by       []string
		}
		var mu sync.Mutex
		turns := map[string][]turn{}
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		defer group.Wait()
		defer stop()
		load := func(c *quorum.Coordinator, key string) {
			for ctx.Err() == nil {
				from := time.Now()
				lease, err := c.Acquire(ctx, key)
				if err != nil {
					continue
				}
				by := lease.Instances()
				_ = lease.Release(ctx)
				mu.Lock()
				turns[key] = append(turns[key], turn{from, time.Now(), by})
				mu.Unlock()
			}
		}
		// votes waits until each key had a turn with a vote of a that began after a time.
		votes := func(after time.Time, keys ...string) {
			for _, key := range keys {
				require.Eventually(t, func() bool {
					mu.Lock()
					defer mu.Unlock()
					return slices.ContainsFunc(turns[key], func(u turn) bool { return u.from.After(after) && slices.Contains(u.by, "a") })
				}, time.Minute, 10*time.Millisecond, key)
			}
		}
		require.Eventually(t, func() bool { // the servers have been up, and marked, for a MaxTTL
			_, err := client().Verify(ctx)
			return err == nil
		}, time.Minute, story.ttl/10)
		knew := client()
		group.Go(func() { load(knew.Coordinator, "knew") })
		votes(time.Time{}, "knew")

		began := time.Now()
		replicate(t, servers[3], servers[0])
		attached := time.Now()
		starts := client()
		group.Go(func() { load(starts.Coordinator, "starts") })
		votes(attached, "knew", "starts")
		stop()
		group.Wait()
		for key, all := range turns {
			continued := false
			for _, u := range all {
				if u.from.After(attached) && u.to.Before(began.Add(story.ttl)) {
					continued = true
					require.NotContains(t, u.by, "a", key)
				}
			}
			if !continued && time.Since(began) > story.ttl {
				t.Logf("%s took no lock in time", key)
				story.late()
			}
		}
	})
}
