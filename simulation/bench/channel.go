package main

import "context"

// channels are no locks between machines: goroutines of one process hand each other a channel's
// element. This shows the cost without any server: the hold time and the scheduler.
func channels() []contender {
	return []contender{{
		name: "a channel", note: "no server: goroutines of one process hand each other a channel's element", contended: true,
		open: func([]string) (locker, error) { return make(channel, 1), nil },
	}}
}

type channel chan struct{}

func (c channel) lock(ctx context.Context, _ string) (func(context.Context) error, error) {
	select {
	case c <- struct{}{}:
		return func(context.Context) error { <-c; return nil }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c channel) close() {}
