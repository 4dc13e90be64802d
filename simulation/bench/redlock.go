package main

import (
	"context"
	"time"

	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// ours is the name of this library.
const ours = "redlock"

// instanceTimeout is Config.InstanceTimeout. Tests set it, because a busy machine is no server that
// doesn't answer.
var instanceTimeout time.Duration

// ourselves is this library, with and without the fencing token.
func ourselves() []contender {
	open := func(cfg quorum.Config) func([]string) (locker, error) {
		cfg.TTL, cfg.InstanceTimeout = lockTTL, instanceTimeout
		return func(addrs []string) (locker, error) { return openRedlock(addrs, cfg) }
	}
	return []contender{
		{name: ours, sick: true, contended: true, open: open(quorum.Config{})},
		{name: "redlock, no token", open: open(quorum.Config{Lab: quorum.Lab{Fencing: quorum.Off}})},
	}
}

type redlocker struct{ *quorum.Coordinator }

func openRedlock(addrs []string, cfg quorum.Config) (redlocker, error) {
	var urls []string
	for _, addr := range addrs {
		urls = append(urls, "redis://"+addr)
	}
	locks, err := redlock.Open(cfg, urls...)
	if err != nil {
		return redlocker{}, err
	}
	return redlocker{locks}, locks.Trust(context.Background()) // nothing was ever locked on these servers
}

func (r redlocker) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	lease, err := r.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (r redlocker) close() { _ = r.Close(context.Background()) }
