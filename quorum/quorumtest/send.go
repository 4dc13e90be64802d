package quorumtest

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Do sends one command and waits for its vote. The timeout is what is left until ctx's
// deadline, by the real clock, or 10 s.
func Do(ctx context.Context, inst wire.Instance, cmd wire.Request) wire.Vote {
	return await(ctx, func(timeout time.Duration, to wire.Receiver) { inst.Send(cmd, timeout, to) })
}

// Enqueue puts a process into a wait queue and waits for the vote.
func Enqueue(ctx context.Context, inst wire.Notifier, w wire.Waiter) wire.Vote {
	return await(ctx, func(timeout time.Duration, to wire.Receiver) { inst.Enqueue(w, timeout, to) })
}

// Dequeue takes a process out of a wait queue and waits for the vote.
func Dequeue(ctx context.Context, inst wire.Notifier, w wire.Waiter) wire.Vote {
	return await(ctx, func(timeout time.Duration, to wire.Receiver) { inst.Dequeue(w, timeout, to) })
}

func await(ctx context.Context, send func(timeout time.Duration, to wire.Receiver)) wire.Vote {
	timeout := 10 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(1, time.Until(deadline))
	}
	votes := make(chan wire.Vote, 1)
	send(timeout, wire.ReceiverFunc(func(vote wire.Vote) { votes <- vote }))
	return <-votes
}
