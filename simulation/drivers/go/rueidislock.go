package main

import (
	"context"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// rueidislockDriver is github.com/redis/rueidis/rueidislock on one server, as its README shows it.
func rueidislockDriver() driver.Driver {
	return contextDriver("rueidislock", "github.com/redis/rueidis", func(servers []string, ttl time.Duration) (locker, error) {
		return rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: servers},
			KeyMajority:    1,
			KeyValidity:    ttl,
			NoLoopTracking: true,
		})
	})
}

// locker is a rueidislock.Locker or a valkeylock.Locker. The context that they return ends
// when the lease is lost, and they extend it until then.
type locker interface {
	WithContext(context.Context, string) (context.Context, context.CancelFunc, error)
	TryWithContext(context.Context, string) (context.Context, context.CancelFunc, error)
}

func contextDriver(name, module string, open func(servers []string, ttl time.Duration) (locker, error)) driver.Driver {
	return driver.Driver{
		Hello: driver.Hello{Name: name, Version: version(module), Servers: "one", Can: []string{"wait", "tell"}},
		Open: func(_ string, servers []string, ttl time.Duration) (driver.Client, error) {
			opened, err := open(servers, ttl)
			return contextLocker{opened}, err
		},
	}
}

type contextLocker struct{ locker locker }

// Acquire ends the wait by a cancellation: a deadline of the context would be the lease's, too.
func (c contextLocker) Acquire(_ context.Context, key string, _, wait time.Duration, lost func()) (driver.Lock, error) {
	acquire := c.locker.TryWithContext
	outer, give := context.WithCancel(context.Background())
	if wait > 0 {
		acquire = c.locker.WithContext
		defer time.AfterFunc(wait, give).Stop()
	}
	ctx, release, err := acquire(outer, key)
	if err == nil {
		context.AfterFunc(ctx, lost)
		return contextLock{ctx: ctx, release: release, give: give}, nil
	}
	give()
	if strings.Contains(err.Error(), "is held by others") {
		err = driver.Taken(err)
	}
	return nil, err
}

type contextLock struct {
	ctx           context.Context
	release, give context.CancelFunc
}

func (l contextLock) Held() (bool, error) { return l.ctx.Err() == nil, nil }

// Release is over when the client has tried to delete the keys. It says nothing of the outcome.
func (l contextLock) Release() error {
	l.release()
	l.give()
	return nil
}
