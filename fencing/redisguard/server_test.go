//go:build unix

package redisguard_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance/instancetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers runs a test on the embedded server, and on a real one if there is one.
func servers(t *testing.T, test func(t *testing.T, c *redis.Client)) {
	t.Run("miniredis", func(t *testing.T) { test(t, connect(t, miniredis.RunT(t).Addr())) })
	t.Run("redis", func(t *testing.T) { test(t, connect(t, startRedis(t).Addr())) })
}

func connect(t *testing.T, addr string) *redis.Client {
	t.Helper()
	const patience = time.Minute // a slow server is none that doesn't answer
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func startRedis(t *testing.T, options ...string) *instancetest.Server {
	t.Helper()
	return instancetest.Start(t, instancetest.Config{Args: options})
}
