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
		all                       sync.WaitGroup
		books                     []*readwrite.Lock
		readers, writers, written atomic.Int32
	)
	for i := range 4 {
		group, err := instance.OpenAll(instance.Config{FixedAddress: true}, urls...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, group.Close()) }()
		// Much time for a busy machine. A server that was killed refuses at once.
		cfg := quorum.Config{TTL: 20 * time.Second, MaxWait: 5 * time.Minute, InstanceTimeout: 5 * time.Second, Owner: fmt.Sprint("process-", i)}
		locks, err := quorum.New(cfg, group.Instances()...)
		require.NoError(t, err)
		defer func() { assert.NoError(t, locks.Close(context.Background())) }()
		require.NoError(t, locks.Trust(t.Context())) // they have just been started
		book, err := readwrite.New(locks, "live", readwrite.Config{Readers: 8})
		require.NoError(t, err)
		books = append(books, book)
	}
	var together []*quorum.Lease
	for _, book := range books {
		lease, err := book.TryRead(t.Context())
		require.NoError(t, err)
		together = append(together, lease)
	}
	for _, lease := range together {
		require.NoError(t, lease.Release(t.Context()))
	}
	for i, book := range books {
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
						if written.Add(1) == 10 {
							servers[0].Kill()
						}
						time.Sleep(time.Millisecond)
						writers.Add(-1)
					} else {
						assert.LessOrEqual(t, readers.Add(1), int32(8))
						assert.Zero(t, writers.Load(), "a reader beside a writer")
						time.Sleep(5 * time.Millisecond)
						readers.Add(-1)
					}
					assert.NotErrorIs(t, lease.Release(context.Background()), quorum.ErrNotHeld) // a busy machine may not answer in time
				}
			})
		}
	}
	all.Wait()
	assert.EqualValues(t, 72, written.Load())
}
