package quorumtest

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Do sends one request and waits for its vote. The timeout is what is left until ctx's
// deadline, by the real clock, or 10 s.
func Do(ctx context.Context, inst wire.Instance, req wire.Request) wire.Vote {
	timeout := 10 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(1, time.Until(deadline))
	}
	votes := make(chan wire.Vote, 1)
	inst.Send(req, timeout, wire.ReceiverFunc(func(vote wire.Vote) { votes <- vote }))
	return <-votes
}
