// Package redlock makes a lock on Redis, Valkey or Tair servers from their URLs, in one call.
//
//	locks, err := redlock.Open(quorum.Config{}, "redis://a:6379", "redis://b:6379", "redis://c:6379")
//	if err != nil {
//		return err
//	}
//	defer locks.Close(ctx) // the lock, and the connections
//	err = locks.Do(ctx, "orders:42", func(ctx context.Context, lease *quorum.Lease) error {
//		return store.Write(ctx, lease.Token(), order) // refuses an older token
//	})
//
// It puts package quorum, which knows nothing of Redis, on package instance, which knows nothing
// of majorities.
package redlock

import (
	"errors"
	"fmt"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/memory"
)

// Open makes a Coordinator on the servers with these URLs: three, five or seven independent
// masters. It does no I/O. Coordinator.Verify finds out whether the servers are fit for locks, and
// Coordinator.Close closes the lock and then the connections.
//
// The URLs are those of instance.Open, or memory:// and a name, or none, for a server inside the process:
// see package memory. The first lock on that waits for nothing, and nobody else sees it. For servers that need an instance.Config, such as a CA of
// their own, call instance.OpenAll and quorum.New, and set quorum.Config.CloseAlso to the group.
//
// Errors: instance.ErrURL, which never repeats a password, and quorum.ErrConfig. Then nothing is
// open.
func Open(cfg quorum.Config, urls ...string) (*quorum.Coordinator, error) {
	if cfg.CloseAlso != nil {
		return nil, fmt.Errorf("%w: CloseAlso is set, but redlock.Open sets it to the servers that it opens; leave it nil, or use instance.OpenAll and quorum.New", quorum.ErrConfig)
	}
	if len(urls) == 0 {
		return nil, fmt.Errorf("%w: no URLs were given; give one for each independent master, three or five of them", quorum.ErrConfig)
	}
	here, err := memory.Open(urls...)
	switch {
	case err != nil:
		return nil, err
	case here != nil:
		return quorum.New(cfg, here...)
	}
	servers, err := instance.OpenAll(instance.Config{}, urls...)
	if err != nil {
		return nil, err
	}
	cfg.CloseAlso = servers
	locks, err := quorum.New(cfg, servers.Instances()...)
	if err != nil {
		return nil, errors.Join(err, servers.Close())
	}
	return locks, nil
}
