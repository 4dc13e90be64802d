//go:build unix

package readwrite_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/readwrite"
)

// Four processes on three real servers, one of which is killed: readers read together, a writer is
// alone, and everybody gets in.
func TestOnRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	servers := instancetest.StartN(t, 3, instancetest.Config{}) // skips the test where there is no redis-server
	var urls []string
	for _, s := range servers {
		urls = append(urls, "redis://"+s.Addr())
	}
	var (
		all               sync.WaitGroup
		readers, writers  atomic.Int32
		together, written atomic.Int32
	)
	for i := range 4 {
		group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, group.Close()) }()
		cfg := quorum.Config{Terms: quorum.Terms{TTL: 5 * time.Second, MaxWait: time.Minute}, InstanceTimeout: time.Second, Owner: fmt.Sprint("process-", i)}
		locks, err := quorum.New(cfg, group.Instances()...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, locks.Close(context.Background())) }()
		require.NoError(t, locks.Trust(t.Context())) // they have just been started
		book, err := readwrite.New(locks, "live", readwrite.Config{Readers: 8})
		require.NoError(t, err)
		for j := range 3 {
			all.Go(func() {
				for k := range 30 {
					enter, writes := book.Read, (i+j+k)%5 == 0
					if writes {
						enter = book.Write
					}
					lease, err := enter(t.Context())
					if !assert.NoError(t, err) {
						return
					}
					if writes {
						assert.EqualValues(t, 1, writers.Add(1), "two writers")
						assert.Zero(t, readers.Load(), "a writer beside readers")
						written.Add(1)
						time.Sleep(time.Millisecond)
						writers.Add(-1)
					} else {
						if readers.Add(1) > 1 {
							together.Add(1)
						}
						assert.LessOrEqual(t, readers.Load(), int32(8))
						assert.Zero(t, writers.Load(), "a reader beside a writer")
						time.Sleep(5 * time.Millisecond)
						readers.Add(-1)
					}
					assert.NotErrorIs(t, lease.Release(context.Background()), quorum.ErrNotHeld) // a busy machine may not answer in time
				}
			})
		}
	}
	kill := time.AfterFunc(300*time.Millisecond, servers[0].Kill)
	defer kill.Stop()
	all.Wait()
	assert.EqualValues(t, 72, written.Load())
	assert.Greater(t, together.Load(), int32(20))
}
