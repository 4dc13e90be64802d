package redsync_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum/adapters/redsync"
	goredis "github.com/redquorum/redlock/quorum/adapters/redsync/redis/goredis/v9"
)

// A program that makes a pool and a Redsync for each request, and closes none, has one Coordinator. It
// stays while a lock is kept alive, and ends when nothing uses it: TestMain looks for goroutines.
func TestRedsyncForEachRequest(t *testing.T) {
	defer redsync.SetLinger(time.Millisecond)()
	servers, err := embedded.Start(1)
	require.NoError(t, err)
	defer func() { assert.NoError(t, servers.Close()) }()
	c := client.NewClient(&client.Options{Addr: servers.Server(0).Addr()})
	defer func() { assert.NoError(t, c.Close()) }()
	first := redsync.New(goredis.NewPool(c))
	// It has just been started. A busy machine may not answer in time.
	require.Eventually(t, func() bool { return first.Coordinator().Trust(t.Context()) == nil }, time.Minute, time.Millisecond)
	connections := func() int { return strings.Count(c.ClientList(t.Context()).Val(), "id=") }

	request := func(name string) (done context.Context) {
		mutex := redsync.New(goredis.NewPool(c)).NewMutex(name, redsync.WithTries(1000))
		require.NoError(t, mutex.Lock())
		if name == "kept" {
			mutex.Lease().KeepAlive()
			return mutex.Lease().Context()
		}
		_, _ = mutex.Unlock() // the machine may be busy
		return nil
	}
	kept := request("kept")
	for range 100 {
		request("k")
	}
	assert.Equal(t, 1, redsync.Shared())
	assert.Less(t, connections(), 50, "not one for each request")

	locks := first.Coordinator()
	runtime.KeepAlive(first)
	for range 20 { // the cleanups of a collection follow it
		runtime.GC()
	}
	require.NoError(t, kept.Err())
	assert.Equal(t, 1, redsync.Shared(), "a lock is kept alive")
	_ = locks.Close(t.Context()) // which ends the lease
	require.Eventually(t, func() bool { runtime.GC(); return redsync.Shared() == 0 }, time.Minute, time.Millisecond)
	assert.Error(t, kept.Err())
}
