package main

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncs is github.com/go-redsync/redsync.
func redsyncs() []contender {
	goRedis := func(opts ...redsync.Option) func([]string) (locker, error) {
		return func(addrs []string) (locker, error) { return openRedsync(addrs, opts...) }
	}
	return []contender{
		{name: "redsync", sick: true, contended: true, open: goRedis()},
		{name: "redsync, fail-fast", sick: true, open: goRedis(redsync.WithFailFast(true))},
	}
}

type redsyncLocker struct {
	rs   *redsync.Redsync
	opts []redsync.Option
	end  func()
}

func openRedsync(addrs []string, opts ...redsync.Option) (locker, error) {
	pools := make([]redsyncredis.Pool, len(addrs))
	clients := make([]*redis.Client, len(addrs))
	for i, addr := range addrs {
		clients[i] = redis.NewClient(&redis.Options{Addr: addr})
		pools[i] = redsyncgoredis.NewPool(clients[i])
	}
	return &redsyncLocker{redsync.New(pools...), opts, func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}}, nil
}

var errNotReleased = errors.New("not released on a quorum")

func (r *redsyncLocker) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	opts := append([]redsync.Option{redsync.WithExpiry(lockTTL)}, r.opts...)
	mutex := r.rs.NewMutex(name, opts...)
	for {
		err := mutex.LockContext(ctx)
		if err == nil {
			break
		}
		// It gives up after 32 tries; a waiter tries again.
		var taken *redsync.ErrTaken
		if ctx.Err() != nil || !errors.As(err, &taken) && !errors.Is(err, redsync.ErrFailed) {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		ok, err := mutex.UnlockContext(ctx)
		if err == nil && !ok {
			err = errNotReleased
		}
		return err
	}, nil
}

func (r *redsyncLocker) close() { r.end() }
