//go:build unix

package instance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
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

func (s subject) PutRun(key string, run wire.Run) {
	ask := asker(s.t, s.Redis)
	if text, ok := ask("GET", SetKey(key)).(string); ok {
		ask("SET", SetKey(key), besideCounter.ReplaceAllString(text, "$1 $2 "+string(run)), "KEEPTTL")
	}
}

// restartable is a subject whose server can be ended.
type restartable struct{ subject }

func (s restartable) Restart(keepData bool) {
	if !keepData {
		s.server.MustAsk("FLUSHALL")
	}
	s.server.Restart()
}

// unhurried is a URL for the contract, which has its own timeouts. A server on a busy machine takes
// longer for hundreds of commands at once than a connection waits by default.
func unhurried(url string) string { return url + "?read_timeout=10s&write_timeout=10s" }

// TestContract checks the contract with a real server, in each way to reach it.
func TestContract(t *testing.T) {
	t.Parallel() // it waits most of the time
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
			contract.Check(t, func(t *testing.T) wire.Instance {
				sub := subject{open(t, unhurried(s.URL()), cfg.instance), t, s}
				if name == "durable" {
					return restartable{sub}
				}
				return sub
			})
		})
	}
}

// TestContractOfAnyClient checks it with the caller's own client.
func TestContractOfAnyClient(t *testing.T) {
	t.Parallel()
	s := instancetest.Start(t, instancetest.Config{})
	contract.Check(t, func(t *testing.T) wire.Instance {
		opt := Harden(&redis.Options{Addr: s.Addr()})
		opt.PipelinePoolSize, opt.DisableIdentity, opt.Dialer = 10, false, nil
		client := redis.NewClient(opt)
		t.Cleanup(func() { _ = client.Close() })
		r, err := New(client, Config{})
		require.NoError(t, err)
		runOf(t, r)
		return subject{r, t, s}
	})
}

// TestContractMiniredis checks it with an embedded server. Its clock for TTLs stands still unless
// it is driven.
func TestContractMiniredis(t *testing.T) {
	t.Parallel()
	contract.Check(t, func(t *testing.T) wire.Instance {
		m := miniredis.RunT(t)
		tick := clockwork(m)
		m.Server().SetPreHook(func(peer *server.Peer, cmd string, args ...string) bool {
			tick(peer)
			return replicates(peer, cmd, args)
		})
		return subject{open(t, unhurried("redis://"+m.Addr()), Config{}), t, nil}
	})
}

// clockwork returns a function that moves a miniredis's clock, by which keys expire, to the real
// time. Called before each command, it makes keys expire in time.
func clockwork(m *miniredis.Miniredis) func(peer *server.Peer) {
	var mu sync.Mutex
	last := time.Now()
	var clients sync.Map // of *server.Peer
	return func(peer *server.Peer) {
		// A script's own commands come on a peer that already has its state. Within a script the
		// miniredis is locked, and its time stands still.
		if _, known := clients.Load(peer); !known && peer.Ctx != nil {
			return
		}
		clients.Store(peer, nil)
		mu.Lock()
		defer mu.Unlock()
		// Whole milliseconds, as servers count.
		if step := time.Since(last).Truncate(time.Millisecond); step > 0 {
			m.FastForward(step)
			last = last.Add(step)
		}
	}
}
