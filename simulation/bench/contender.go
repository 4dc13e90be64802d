package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

// lockTTL is the TTL of the locks that are acquired and released.
const lockTTL = 10 * time.Second

// ours is the name of this library.
const ours = "redlock"

// locker acquires the lock of a name. It waits for it if the library can.
type locker func(ctx context.Context, name string) (unlock func(context.Context) error, err error)

// contender is one way to lock.
type contender struct {
	name string
	// sick, contended: to be measured with one faulty server (which requires a quorum),
	// and on one name (which requires a way to wait).
	sick, contended bool
	open            func(addrs []string) (locker, error)
}

// contenders has all contenders. The others are compared with the first.
var contenders = []contender{
	{"redsync", true, true, redsyncs()},
	{"redsync, fail-fast", true, false, redsyncs(redsync.WithFailFast(true))},
	{"rueidislock, 3 keys", false, true, rueidislocks(2)},
	{"rueidislock, 1 key", false, true, rueidislocks(1)},
	{"redislock", false, true, redislocks},
	{ours, true, true, ourselves(quorum.Config{TTL: lockTTL})},
	{"redlock, no token", false, false, ourselves(quorum.Config{TTL: lockTTL, Lab: quorum.Lab{Fencing: quorum.Off}})},
}

var errNotReleased = errors.New("not released on a quorum")

// redsyncs is github.com/go-redsync/redsync.
func redsyncs(opts ...redsync.Option) func([]string) (locker, error) {
	opts = append(opts, redsync.WithExpiry(lockTTL))
	return func(addrs []string) (locker, error) {
		var pools []redsyncredis.Pool
		for _, addr := range addrs {
			pools = append(pools, redsyncgoredis.NewPool(redis.NewClient(&redis.Options{Addr: addr})))
		}
		rs := redsync.New(pools...)
		return func(ctx context.Context, name string) (func(context.Context) error, error) {
			mutex := rs.NewMutex(name, opts...)
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
		}, nil
	}
}

// rueidislocks is github.com/redis/rueidis/rueidislock: a majority of keys through one client, here on one server.
func rueidislocks(majority int32) func([]string) (locker, error) {
	return func(addrs []string) (locker, error) {
		locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: addrs[:1]},
			KeyMajority:    majority,
			KeyValidity:    lockTTL,
			NoLoopTracking: true,
		})
		return func(ctx context.Context, name string) (func(context.Context) error, error) {
			_, cancel, err := locks.WithContext(ctx, name)
			return func(context.Context) error {
				cancel()
				return nil
			}, err
		}, err
	}
}

// redislocks is github.com/bsm/redislock: one key on one server.
func redislocks(addrs []string) (locker, error) {
	locks := redislock.New(redis.NewClient(&redis.Options{Addr: addrs[0]}))
	return func(ctx context.Context, name string) (func(context.Context) error, error) {
		lock, err := locks.Obtain(ctx, name, lockTTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
		if err != nil {
			return nil, err
		}
		return lock.Release, nil
	}, nil
}

// instanceTimeout is Config.InstanceTimeout. Tests set it, because a busy machine is no server that doesn't answer.
var instanceTimeout time.Duration

// ourselves is this library.
func ourselves(cfg quorum.Config) func([]string) (locker, error) {
	return func(addrs []string) (locker, error) {
		cfg.InstanceTimeout = instanceTimeout
		locks, err := openRedlock(addrs, cfg)
		return func(ctx context.Context, name string) (func(context.Context) error, error) {
			lease, err := locks.Acquire(ctx, name)
			if err != nil {
				return nil, err
			}
			return lease.Release, nil
		}, err
	}
}

func openRedlock(addrs []string, cfg quorum.Config) (*quorum.Coordinator, error) {
	var urls []string
	for _, addr := range addrs {
		urls = append(urls, "redis://"+addr)
	}
	locks, err := redlock.Open(cfg, urls...)
	if err != nil {
		return nil, err
	}
	return locks, locks.Trust(context.Background()) // nothing was ever locked on these servers
}
