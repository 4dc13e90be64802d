package main

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislocks is github.com/redis/rueidis/rueidislock: a majority of keys through
// one client, here on one server.
func rueidislocks() []contender {
	open := func(majority int32) func([]string) (locker, error) {
		return func(addrs []string) (locker, error) {
			l, err := rueidislock.NewLocker(rueidislock.LockerOption{
				ClientOption:   rueidis.ClientOption{InitAddress: addrs[:1]},
				KeyMajority:    majority,
				KeyValidity:    lockTTL,
				NoLoopTracking: true,
			})
			if err != nil {
				return nil, err
			}
			return rueidisLocker{l}, nil
		}
	}
	return []contender{
		{name: "rueidislock, 3 keys", contended: true, open: open(2)},
		{name: "rueidislock, 1 key", contended: true, open: open(1)},
	}
}

type rueidisLocker struct{ rueidislock.Locker }

func (r rueidisLocker) lock(ctx context.Context, name string) (func(context.Context) error, error) {
	_, cancel, err := r.WithContext(ctx, name)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		cancel()
		return nil
	}, nil
}

func (r rueidisLocker) close() { r.Close() }
