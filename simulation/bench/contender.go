package main

import (
	"context"
	"time"
)

// ttl is the TTL of all contenders.
const ttl = 10 * time.Second

// locker is a lock library, opened on servers.
type locker interface {
	// lock acquires the lock of a name. It waits for it if the library can.
	lock(ctx context.Context, name string) (unlock func(context.Context) error, err error)
	close()
}

// contender is one way to lock.
type contender struct {
	name string
	// ours is this library.
	ours bool
	// sick, contended: to be measured with one faulty server (which requires a quorum),
	// and on one name (which requires a way to wait).
	sick, contended bool
	// sends are the commands that clients send: INFO commandstats also counts commands
	// of scripts.
	sends []string
	open  func(addrs []string) (locker, error)
}

// contenders returns all contenders. The others are compared with the first.
func contenders() []contender {
	all := []contender{}
	all = append(all, redsyncs()...)
	all = append(all, rueidislocks()...)
	all = append(all, redislocks()...)
	all = append(all, ourselves()...)
	return all
}
