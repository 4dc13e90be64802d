package main

import (
	"context"
	"time"
)

// lockTTL is the TTL of the locks that are acquired and released.
const lockTTL = 10 * time.Second

// locker is a lock library, opened on servers.
type locker interface {
	// lock acquires the lock of a name. It waits for it if the library can.
	lock(ctx context.Context, name string) (unlock func(context.Context) error, err error)
	close()
}

// contender is one way to lock.
type contender struct {
	name string
	// sick, contended: to be measured with one faulty server (which requires a quorum),
	// and on one name (which requires a way to wait).
	sick, contended bool
	open            func(addrs []string) (locker, error)
}
