//go:build unix

package instance

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

// subject is an instance with what the contract wants to do to its server.
type subject struct {
	*Redis
	t      *testing.T
	server *instancetest.Server
}

func (s subject) Put(key, value string, ttl time.Duration) {
	if ttl == quorum.NoExpiry {
		ttl = 0
	}
	require.NoError(s.t, s.Client().Set(context.Background(), key, value, ttl).Err())
}

// restartable is one whose server can be ended.
type restartable struct{ subject }

func (s restartable) Restart(keepData bool) {
	if !keepData {
		s.server.MustAsk("FLUSHALL")
	}
	s.server.Restart()
}

// TestContract holds a real server to the contract, in each way to reach it.
func TestContract(t *testing.T) {
	for name, cfg := range map[string]struct {
		server   instancetest.Config
		instance Config
	}{
		"tcp":     {},
		"unix":    {server: instancetest.Config{Unix: true, Password: "secret"}},
		"durable": {server: instancetest.Config{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := instancetest.Start(t, cfg.server)
			quorumtest.Check(t, func(t *testing.T) quorum.Instance {
				sub := subject{open(t, s.URL(), cfg.instance), t, s}
				if name == "durable" {
					return restartable{sub}
				}
				return sub
			})
		})
	}
}

// TestContractOfAnyClient holds a client of the caller's own to it, with RESP3.
func TestContractOfAnyClient(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	quorumtest.Check(t, func(t *testing.T) quorum.Instance {
		opt := Harden(&redis.Options{Addr: s.Addr()})
		opt.Protocol, opt.PipelinePoolSize, opt.DisableIdentity, opt.Dialer = 3, 10, false, nil
		client := redis.NewClient(opt)
		t.Cleanup(func() { _ = client.Close() })
		r, err := New(client, Config{})
		require.NoError(t, err)
		return subject{r, t, s}
	})
}

// TestContractMiniredis holds an embedded server to it. Its clock for TTLs
// stands still unless it is driven.
func TestContractMiniredis(t *testing.T) {
	quorumtest.Check(t, func(t *testing.T) quorum.Instance {
		m := miniredis.RunT(t)
		drive(t, m)
		return subject{open(t, "redis://"+m.Addr(), Config{}), t, nil}
	})
}

// drive lets a miniredis expire its keys, for the test's time: no faster than
// the real clock, as keys must not be cut short, but slower on a busy machine.
func drive(t *testing.T, m *miniredis.Miniredis) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.FastForward(time.Millisecond)
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}
