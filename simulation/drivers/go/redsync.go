package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/simulation/box/driver"
)

var (
	failFast = redsync.WithFailFast(true)
	setNX    = redsync.WithSetNXOnExtend()
)

// redsyncDriver is github.com/go-redsync/redsync on go-redis, as its README shows it.
func redsyncDriver(name string, opts ...redsync.Option) driver.Driver {
	return driver.Driver{
		Hello: driver.Hello{
			Name: name, Version: version("github.com/go-redsync/redsync/v4"), Servers: "many",
			Can: []string{"extend", "wait"},
		},
		Open: func(_ string, servers []string, _ time.Duration) (driver.Client, error) {
			pools := make([]redsyncredis.Pool, len(servers))
			for i, addr := range servers {
				pools[i] = goredis.NewPool(redis.NewClient(&redis.Options{Addr: addr}))
			}
			return redsyncClient{redsync.New(pools...), opts}, nil
		},
	}
}

type redsyncClient struct {
	redsync *redsync.Redsync
	opts    []redsync.Option
}

// Acquire waits until the context ends. By default LockContext gives up earlier, after 32 tries with
// 50 to 250 ms between them.
func (c redsyncClient) Acquire(ctx context.Context, key string, ttl, wait time.Duration, _ func()) (driver.Lock, error) {
	tries := max(32, int(wait/(50*time.Millisecond))+1)
	opts := append([]redsync.Option{redsync.WithExpiry(ttl), redsync.WithTries(tries)}, c.opts...)
	mutex := c.redsync.NewMutex(key, opts...)
	lock := mutex.TryLockContext
	if wait > 0 {
		lock = mutex.LockContext
	}
	err := lock(ctx)
	if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) {
		return nil, driver.Taken(err)
	}
	return redsyncLock{mutex: mutex}, err
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (l redsyncLock) Left() time.Duration        { return time.Until(l.mutex.Until()) }
func (l redsyncLock) Held() (bool, error)        { return time.Now().Before(l.mutex.Until()), nil }
func (l redsyncLock) Extend(time.Duration) error { return confirmed(l.mutex.Extend()) }
func (l redsyncLock) Release() error             { return confirmed(l.mutex.Unlock()) }

func confirmed(ok bool, err error) error {
	if !ok && err == nil {
		return errors.New("redsync says false, without an error")
	}
	return err
}
