package main

import (
	"context"
	"time"
)

// ttl is every contender's time to live.
const ttl = 10 * time.Second

// locker is a lock library, opened on servers.
type locker interface {
	// lock takes the lock on a name, waiting for it if the library can, and gives
	// what releases it.
	lock(ctx context.Context, name string) (unlock func(context.Context) error, err error)
	close()
}

// contender is one way to take a lock.
type contender struct {
	name string
	// note says what differs from the others beside the code.
	note string
	// servers is how many of the servers a lock asks. What asks none is only measured
	// on one name, in one process.
	servers int
	// ours is this library.
	ours bool
	// sick, contended: worth measuring with one server out of order (which takes a
	// quorum), and on one name (which takes a way to wait).
	sick, contended bool
	// sends are the commands that clients send, for counting them: INFO
	// commandstats has those, too, that scripts call.
	sends []string
	open  func(addrs []string) (locker, error)
}

// contenders are all of them. The first is what the others are measured against.
func contenders() []contender {
	all := []contender{}
	all = append(all, redsyncs()...)
	all = append(all, rueidislocks()...)
	all = append(all, redislocks()...)
	all = append(all, floors()...)
	all = append(all, channels()...)
	all = append(all, ourselves()...)
	return all
}
