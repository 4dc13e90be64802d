//go:build unix

package instance

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/quorumtest/contract"
	"github.com/redquorum/redlock/quorum/wire"
)

// subject is an instance with what the contract wants to do to its server.
type subject struct {
	*Redis
	t      *testing.T
	server *instancetest.Server
}

func (s subject) Put(key, value string, ttl time.Duration) {
	if ttl == wire.NoExpiry {
		ttl = 0
	}
	require.NoError(s.t, s.Client().Set(context.Background(), key, value, ttl).Err())
}

// restartable is a subject whose server can be ended.
type restartable struct{ subject }

func (s restartable) Restart(keepData bool) {
	if !keepData {
		s.server.MustAsk("FLUSHALL")
	}
	s.server.Restart()
}

// TestContract checks the contract with real servers: one on a port, with the caller's own client, and
// a durable one on a socket.
func TestContract(t *testing.T) {
	t.Parallel() // it waits most of the time
	t.Run("tcp", func(t *testing.T) {
		t.Parallel()
		s := instancetest.Start(t, instancetest.Config{})
		contract.Check(t, func(t *testing.T) wire.Instance {
			opt := Harden(unhurriedOptions(redis.Options{Addr: s.Addr()}))
			opt.PipelinePoolSize, opt.DisableIdentity, opt.Dialer = 10, false, nil
			r := of(t, opt)
			runOf(t, r)
			return subject{r, t, s}
		})
	})
	t.Run("unix", func(t *testing.T) {
		t.Parallel()
		socket := filepath.Join(t.TempDir(), "redis")
		s := instancetest.Start(t, instancetest.Config{Password: "secret", Args: []string{"--unixsocket", socket, "--appendonly", "yes", "--appendfsync", "always"}})
		contract.Check(t, func(t *testing.T) wire.Instance {
			return restartable{subject{open(t, "unix://:secret@"+socket, Config{}), t, s}}
		})
	})
}
