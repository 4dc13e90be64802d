package main

import (
	"context"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
)

// instanceTimeout is Config.InstanceTimeout. Tests set it, because a busy machine is no server that
// doesn't answer.
var instanceTimeout time.Duration

// ourselves is this library, with and without the fencing token.
func ourselves() []contender {
	contend := func(name, note string, cfg quorum.Config) contender {
		cfg.TTL, cfg.InstanceTimeout = ttl, instanceTimeout
		return contender{
			name: name, note: note, servers: 5, ours: true, sick: true, contended: true,
			sends: []string{"evalsha", "eval", "set", "pttl", "time", "publish", "subscribe", "unsubscribe", "info", "ping", "hello", "command|info", "config|get", "role", "wait", "script|load"},
			open:  func(addrs []string) (locker, error) { return openRedlock(addrs, cfg) },
		}
	}
	return []contender{
		contend("redlock", "this library, its defaults: fencing token, clock monitor, restart quarantine", quorum.Config{}),
		contend("redlock, no token", "the same with fencing off", quorum.Config{Fencing: quorum.Off}),
	}
}

type redlock struct {
	group *instance.Group
	locks *quorum.Coordinator
}

func openRedlock(addrs []string, cfg quorum.Config) (locker, error) {
	urls := make([]string, len(addrs))
	for i, addr := range addrs {
		urls[i] = "redis://" + addr
	}
	group, err := instance.OpenAll(instance.Config{}, urls...)
	if err != nil {
		return nil, err
	}
	locks, err := quorum.New(cfg, group.Instances()...)
	if err != nil {
		_ = group.Close()
		return nil, err
	}
	// The servers are new, and nothing was ever locked on them.
	if err := locks.Trust(context.Background()); err != nil {
		_ = locks.Close(context.Background())
		_ = group.Close()
		return nil, err
	}
	return &redlock{group, locks}, nil
}

func (r *redlock) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	lease, err := r.locks.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (r *redlock) close() {
	_ = r.locks.Close(context.Background())
	_ = r.group.Close()
}
