package main

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/bench/client"
)

// instanceTimeout is Config.InstanceTimeout. Tests set it, because a busy machine is no server that
// doesn't answer.
var instanceTimeout time.Duration

// ourselves is this library, with and without the fencing token.
func ourselves() []contender {
	contend := func(name string, cfg quorum.Config) contender {
		cfg.TTL, cfg.InstanceTimeout = ttl, instanceTimeout
		return contender{
			name: name, ours: true, sick: true, contended: true,
			sends: []string{"evalsha", "eval", "set", "pttl", "time", "publish", "subscribe", "unsubscribe", "info", "ping", "hello", "command|info", "config|get", "role", "wait", "script|load"},
			open:  func(addrs []string) (locker, error) { return openRedlock(addrs, cfg) },
		}
	}
	return []contender{
		contend("redlock", quorum.Config{}),
		contend("redlock, no token", quorum.Config{Lab: quorum.Lab{Fencing: quorum.Off}}),
	}
}

type redlock struct {
	locks *quorum.Coordinator
	end   func()
}

func openRedlock(addrs []string, cfg quorum.Config) (locker, error) {
	locks, end, err := client.Open(context.Background(), addrs, cfg)
	return &redlock{locks, end}, err
}

func (r *redlock) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	lease, err := r.locks.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (r *redlock) close() { r.end() }
