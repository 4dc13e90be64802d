package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

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
			Can: []string{"extend", "token", "wait", "tell"},
		},
		Open: openRedlock,
	}
}

// addressLag is for how long a connection may lead to a server after its address has moved.
const addressLag = 500 * time.Millisecond

// openRedlock names the servers by their places, because the box gives each client other addresses
// for the same servers, and by their number and the TTL, because all clients under one name need the same set. It sets MaxTTL as small as it may be, because a server that is new votes
// after MaxTTL: to the TTL, and for how long a connection may lead to another server than its
// address, half of which is for making it.
func openRedlock(_ string, servers []string, ttl time.Duration) (driver.Client, error) {
	var instances []wire.Instance
	for i, addr := range servers {
		client := redis.NewClient(instance.Harden(&redis.Options{Addr: addr, DialTimeout: addressLag / 2, ConnMaxLifetime: addressLag / 4}))
		one, err := instance.New(client, instance.Config{Name: fmt.Sprintf("server %d of %d for %v", i+1, len(servers), ttl)})
		if err != nil {
			return nil, err
		}
		instances = append(instances, one)
	}
	locks, err := quorum.New(quorum.Config{TTL: ttl, MaxTTL: ttl + addressLag}, instances...)
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
