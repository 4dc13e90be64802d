package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// ChannelPrefix begins the name of each channel that waiters are called on: what an
// account with an ACL needs to be allowed (&redlock:wake:*).
const ChannelPrefix = "redlock:wake:"

var _ wire.Notifier = (*Redis)(nil)

// Enqueue puts a process into a wait queue, see wire.Notifier.
func (r *Redis) Enqueue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	r.sendWaiter(wire.Enqueue, w, timeout, to)
}

// Dequeue takes a process out of a wait queue, see wire.Notifier.
func (r *Redis) Dequeue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	r.sendWaiter(wire.Dequeue, w, timeout, to)
}

func (r *Redis) sendWaiter(op wire.Op, w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	c := r.newCall(wire.Request{Op: op, Key: w.Key, TTL: w.TTL, Clock: true})
	c.waiter = w
	r.send(c, timeout, to)
}

// silenceLimit is how long a subscription is silent before it asks the server whether it
// is still there, and how long it then waits for an answer.
const silenceLimit = 5 * time.Second

// Subscribe subscribes to a channel of its own, on a connection of its own, as
// wire.Notifier says. It is over when the connection is lost: it isn't made
// again behind the caller's back, for calls may have been missed.
//
// It calls itself once, so that a user who may not subscribe or publish is told so
// here, and not by silence.
func (r *Redis) Subscribe(ctx context.Context) (wire.Subscription, error) {
	e := &subscription{r: r, channel: ChannelPrefix + rand.Text()}
	e.ctx, e.cancel = context.WithCancel(context.WithValue(context.WithoutCancel(ctx), oneDial{}, &e.dialed))
	e.sub = r.client.Subscribe(e.ctx)
	// go-redis reads under the subscription's own context, which has to outlast this call; so
	// this call's end closes it.
	stop := context.AfterFunc(ctx, func() { _ = e.Close() })
	err := e.begin(ctx)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = e.Close()
		return nil, explain(ctx, err)
	}
	return e, nil
}

// subscription is one connection for notifications.
type subscription struct {
	r       *Redis
	channel string
	sub     *redis.PubSub
	ctx     context.Context
	cancel  context.CancelFunc
	dialed  atomic.Bool
	asked   bool // the server was asked whether it is there, and hasn't answered
}

// begin subscribes, and hears itself.
func (e *subscription) begin(ctx context.Context) error {
	// The one command that dials: a server that hangs is found out by ctx.
	if err := e.sub.Subscribe(context.WithValue(ctx, oneDial{}, &e.dialed), e.channel); err != nil {
		return err
	}
	if _, err := e.sub.ReceiveTimeout(e.ctx, silenceLimit); err != nil {
		return err // of the subscription, or that it is denied
	}
	if err := e.r.client.Publish(ctx, e.channel, "").Err(); err != nil {
		return err
	}
	_, err := e.Next()
	return err
}

// Address is the channel's name.
func (e *subscription) Address() string { return e.channel }

// Next waits for the next message.
func (e *subscription) Next() (string, error) {
	for {
		message, err := e.sub.ReceiveTimeout(e.ctx, silenceLimit)
		var timeout net.Error
		switch {
		case err == nil:
			e.asked = false
		case e.ctx.Err() != nil:
			return "", ErrClosed
		case errors.As(err, &timeout) && timeout.Timeout() && !e.asked:
			// A connection can be lost without a word.
			e.asked = true
			err = e.sub.Ping(e.ctx)
		}
		if err != nil {
			return "", fmt.Errorf("instance: waiting for calls: %w", explain(context.Background(), err))
		}
		if message, ok := message.(*redis.Message); ok && message.Channel == e.channel {
			return message.Payload, nil
		}
	}
}

// Close gives up the connection.
func (e *subscription) Close() error {
	e.cancel()
	if err := e.sub.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("instance: closing a subscription to %s: %w", e.r.name, err)
	}
	return nil
}

// oneDial marks the context of a connection that may be dialed once: go-redis makes
// a subscription's connection anew when it is lost, and the subscription must not seem to
// have heard all meanwhile. Its value is an *atomic.Bool.
type oneDial struct{}

// onceDialed is the hook that sees to it.
type onceDialed struct{}

func (onceDialed) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dialed, ok := ctx.Value(oneDial{}).(*atomic.Bool); ok && dialed.Swap(true) {
			return nil, errLost
		}
		return next(ctx, network, addr)
	}
}

func (onceDialed) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (onceDialed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// errLost stops go-redis from making the connection again.
var errLost = fmt.Errorf("%w: the subscription's was lost", ErrConnection)
