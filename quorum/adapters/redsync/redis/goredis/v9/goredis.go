// Package goredis stands where redsync has its package redis/goredis/v9: it makes pools of go-redis
// clients.
package goredis

import (
	"reflect"

	client "github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum/adapters/redsync/redis"
	"github.com/redquorum/redlock/quorum/wire"
)

// NewPool makes a pool of a client of one master, with the default instance.Config. The client
// itself is not used, because its options suit a cache: it tries commands again, and it may wait
// beyond a context's end. The pool makes a client of its own with the same options, hardened by
// instance.Harden, and leaves the given one alone. A DialTimeout of 5 s, which is go-redis's default,
// becomes instance.Harden's. Hooks of the given client, for example for tracing, are not called: go-redis
// doesn't tell them. To have them called, add them to a client that was made with instance.Harden, and give
// redsync.On a Coordinator on instance.New of that client.
//
// Clients of a cluster, a ring or a failover (Sentinel) are refused by redsync.New. Give redsync.On a
// Coordinator that was opened with the URL of the Cluster or of the Sentinels instead (redlock.Open): each
// such URL is one vote. Or give each independent master as a pool.
func NewPool(delegate client.UniversalClient) redis.Pool {
	return pool{delegate}
}

type pool struct{ delegate client.UniversalClient }

func (p pool) Open() (wire.Instance, func() error, error) {
	from, ok := p.delegate.(*client.Client)
	if !ok || from == nil || from.Options().Addr == "FailoverClient" {
		_, err := instance.New(p.delegate, instance.Config{}) // says what is wrong with it
		return nil, nil, err
	}
	hard := client.NewClient(instance.Harden(withoutDefaults(from)))
	server, err := instance.New(hard, instance.Config{})
	if err != nil {
		_ = hard.Close()
		return nil, nil, err
	}
	return server, func() error {
		// The instance leaves a client that it was given to its owner.
		err := server.Close()
		if closing := hard.Close(); err == nil {
			err = closing
		}
		return err
	}, nil
}

// withoutDefaults is the options of a client without go-redis's dialer and DialTimeout, for which
// Harden has others. NewClient sets them, so an option that was not set looks like one that was.
// That dialer has the timeouts of the given client, and its TLS handshakes ignore contexts. That
// timeout is part of ConnLife, which bounds every expiry.
func withoutDefaults(c *client.Client) *client.Options {
	usual := client.NewClient(&client.Options{})
	defer usual.Close() //nolint:errcheck // it has no connection
	opt, code := *c.Options(), func(dialer any) uintptr { return reflect.ValueOf(dialer).Pointer() }
	if code(opt.Dialer) == code(usual.Options().Dialer) {
		opt.Dialer = nil
	}
	if opt.DialTimeout == usual.Options().DialTimeout {
		opt.DialTimeout = 0
	}
	return &opt
}
