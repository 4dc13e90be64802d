package instance

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// epoch counts the connections that a client has opened, for Vote.Epoch: it is
// a hook, so that it works for clients that were made elsewhere. It starts at 1
// for the connections that such a client may have already.
//
// Invariant: a connection is counted before the first byte is sent on it, so no
// answer that came over it carries an epoch from before it.
type epoch struct{ n atomic.Uint64 }

func (e *epoch) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dialed, ok := ctx.Value(oneDial{}).(*atomic.Bool); ok {
			// No vote comes over a subscription's connection.
			if dialed.Swap(true) {
				return nil, errLost
			}
			return next(ctx, network, addr)
		}
		conn, err := next(ctx, network, addr)
		if _, none := conn.(*noConn); err == nil && !none {
			e.n.Add(1)
		}
		return conn, err
	}
}

func (e *epoch) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (e *epoch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
