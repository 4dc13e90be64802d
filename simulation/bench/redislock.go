package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislocks is github.com/bsm/redislock: one key on one server.
func redislocks() []contender {
	return []contender{{
		name: "redislock", contended: true,
		open: func(addrs []string) (locker, error) {
			client := redis.NewClient(&redis.Options{Addr: addrs[0]})
			return &redislockLocker{client, redislock.New(client)}, nil
		},
	}}
}

type redislockLocker struct {
	client *redis.Client
	locks  *redislock.Client
}

func (r *redislockLocker) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	lock, err := r.locks.Obtain(ctx, name, lockTTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

func (r *redislockLocker) close() { _ = r.client.Close() }
