package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// redislockDriver is github.com/bsm/redislock on go-redis, as its README shows it.
func redislockDriver() driver.Driver {
	return driver.Driver{
		Hello: driver.Hello{
			Name: "bsm/redislock", Version: version("github.com/bsm/redislock"), Servers: "one",
			Can: []string{"extend", "wait"},
		},
		Open: func(_ string, servers []string, _ time.Duration) (driver.Client, error) {
			return redislockClient{redislock.New(redis.NewClient(&redis.Options{Addr: servers[0]}))}, nil
		},
	}
}

type redislockClient struct{ locks *redislock.Client }

// Acquire waits as the client's example with a deadline does. Without a strategy Obtain tries once.
func (c redislockClient) Acquire(ctx context.Context, key string, ttl, wait time.Duration, _ func()) (driver.Lock, error) {
	var opts *redislock.Options
	if wait > 0 {
		opts = &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	}
	lock, err := c.locks.Obtain(ctx, key, ttl, opts)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, driver.Taken(err)
	}
	return redislockLock{lock: lock}, err
}

type redislockLock struct{ lock *redislock.Lock }

func (l redislockLock) Held() (bool, error) {
	ttl, err := l.lock.TTL(context.Background())
	return ttl > 0, err
}

func (l redislockLock) Extend(ttl time.Duration) error {
	return l.lock.Refresh(context.Background(), ttl, nil)
}

func (l redislockLock) Release() error { return l.lock.Release(context.Background()) }
