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
	// note describes it.
	note string
	// servers is the number of servers that a lock uses.
	servers int
	// ours is this library.
	ours bool
	// sick, contended: to be measured with one faulty server (which requires a quorum),
	// and on one name (which requires a way to wait).
	sick, contended bool
	// sends are the commands that clients send: INFO commandstats also counts commands
	// of scripts.
	sends []string
	open  func(addrs []string) (locker, error)
	// bulk opens a contender that shares its work out among the workers in its own way. It
	// has no open, and is not measured on one name or with a faulty server.
	bulk func(addrs []string, workers int) (bench, error)
}

// bench has workers acquire and release for a time.
type bench interface {
	work(ctx context.Context, workers int, long time.Duration) (cycles []time.Duration, failed int)
	close()
}

// start opens a contender for a number of workers.
func (c contender) start(addrs []string, workers int) (bench, error) {
	if c.bulk != nil {
		return c.bulk(addrs, workers)
	}
	l, err := c.open(addrs)
	if err != nil {
		return nil, err
	}
	return lockerBench{l}, nil
}

// lockerBench has each worker use a locker with a name of its own.
type lockerBench struct{ locker }

func (b lockerBench) work(ctx context.Context, workers int, long time.Duration) ([]time.Duration, int) {
	return work(ctx, b.locker, workers, long)
}

// contenders returns all contenders. The others are compared with the first.
func contenders() []contender {
	all := []contender{}
	all = append(all, redsyncs()...)
	all = append(all, rueidislocks()...)
	all = append(all, redislocks()...)
	all = append(all, limits()...)
	all = append(all, ourselves()...)
	return all
}
