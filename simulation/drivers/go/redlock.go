package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/box/driver"
)

// redlockDriver is this library.
func redlockDriver() driver.Driver {
	return driver.Driver{
		Hello: driver.Hello{
			Name: "redlock (this library)", Version: version("github.com/redquorum/redlock"), Servers: "many",
			Can: []string{"extend", "token", "wait", "tell"}, Distrusts: distrusts(),
		},
		Open: openRedlock,
	}
}

// distrusts is by how much MaxTTL is longer than the TTL, see openRedlock. No server is asked.
func distrusts() int64 {
	one, err := instance.Open("redis://127.0.0.1", instance.Config{})
	if err != nil {
		panic(err)
	}
	defer one.Close()
	return one.ConnLife().Milliseconds()
}

// openRedlock opens the servers as a program does, with the defaults. It names them by their places, because
// the box gives each client other addresses for the same servers, and by their number and the TTL, because
// all clients under one name need the same set. MaxTTL is as short as the TTL allows, because the votes of a
// server that is new, or has lost its data, are ignored for so long.
func openRedlock(_ string, servers []string, ttl time.Duration) (driver.Client, error) {
	var instances []wire.Instance
	longest := ttl
	for i, addr := range servers {
		one, err := instance.Open("redis://"+addr, instance.Config{Name: fmt.Sprintf("server %d of %d for %v", i+1, len(servers), ttl)})
		if err != nil {
			return nil, err
		}
		longest = max(longest, ttl+one.ConnLife())
		instances = append(instances, one)
	}
	locks, err := quorum.New(quorum.Config{TTL: ttl, MaxTTL: longest}, instances...)
	return redlockClient{locks}, err
}

type redlockClient struct{ locks *quorum.Coordinator }

func (c redlockClient) Acquire(ctx context.Context, key string, _, wait time.Duration, lost func()) (driver.Lock, error) {
	acquire := c.locks.TryAcquire
	if wait > 0 {
		acquire = c.locks.Acquire
	}
	lease, err := acquire(ctx, key)
	if errors.Is(err, quorum.ErrTaken) {
		return nil, driver.Taken(err)
	} else if err != nil {
		return nil, err
	}
	context.AfterFunc(lease.Context(), lost)
	return redlockLock{lease}, nil
}

type redlockLock struct{ lease *quorum.Lease }

func (l redlockLock) Left() time.Duration        { return l.lease.Validity() }
func (l redlockLock) Token() uint64              { return uint64(l.lease.Token()) }
func (l redlockLock) Held() (bool, error)        { return l.lease.Err() == nil, nil }
func (l redlockLock) Extend(time.Duration) error { return l.lease.Extend(context.Background()) }
func (l redlockLock) Release() error             { return l.lease.Release(context.Background()) }
