package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// channelPrefix begins the name of each channel on which waiters are notified. An account
// with an ACL needs the right to &redlock:wake:*.
const channelPrefix = "redlock:wake:"

var _ wire.Notifier = (*Redis)(nil)

// silenceLimit is how long a subscription may be silent before it sends PING, and how long
// it then waits for the reply.
const silenceLimit = 5 * time.Second

// Subscribe subscribes to a new channel on a new connection, as wire.Notifier says. The
// subscription ends when the connection is lost. It does not reconnect on its own, because
// notifications may have been missed.
//
// Subscribe notifies itself once, so that a user without the right to subscribe or publish
// gets an error here.
func (r *Redis) Subscribe(ctx context.Context) (wire.Subscription, error) {
	s := &subscription{r: r, channel: channelPrefix + rand.Text()}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.sub = r.client.Subscribe(s.ctx)
	// go-redis reads under the subscription's own context, so the end of this call's closes it.
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	err := s.begin(ctx)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = s.Close()
		// go-redis can see the context's deadline pass a little before the context does.
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			<-ctx.Done()
		}
		if ctx.Err() != nil {
			return nil, contextEnded(ctx)
		}
		return nil, explain(err)
	}
	return s, nil
}

// subscription is one connection for notifications.
type subscription struct {
	r       *Redis
	channel string
	sub     *redis.PubSub
	ctx     context.Context
	cancel  context.CancelFunc
	pinged  bool // and no reply yet
}

// begin subscribes, and receives its own notification.
func (s *subscription) begin(ctx context.Context) error {
	if err := s.sub.Subscribe(ctx, s.channel); err != nil {
		return err
	}
	if _, err := s.sub.ReceiveTimeout(s.ctx, silenceLimit); err != nil {
		return err // subscribed, or not allowed to
	}
	if err := s.r.client.Publish(ctx, s.channel, "").Err(); err != nil {
		return err
	}
	_, err := s.Next()
	return err
}

// Address returns the channel's name.
func (s *subscription) Address() string { return s.channel }

// Next waits for the next notification.
func (s *subscription) Next() (string, error) {
	for {
		message, err := s.sub.ReceiveTimeout(s.ctx, silenceLimit)
		var timeout net.Error
		switch {
		case err == nil:
			s.pinged = false
		case s.ctx.Err() != nil:
			return "", ErrClosed
		case errors.As(err, &timeout) && timeout.Timeout() && !s.pinged:
			// A connection can be lost without a sign.
			s.pinged = true
			err = s.sub.Ping(s.ctx)
		}
		switch m := message.(type) {
		case *redis.Message:
			if err == nil && m.Channel == s.channel {
				return strings.TrimPrefix(m.Payload, s.r.prefix), nil
			}
		case *redis.Subscription:
			// go-redis has subscribed again on another connection, after it lost the first one without
			// saying so. Notifications may have been missed.
			if err == nil {
				err = fmt.Errorf("%w: the subscription's connection was lost", ErrConnection)
			}
		}
		if err != nil {
			_ = s.Close()
			return "", fmt.Errorf("instance: waiting for notifications: %w", explain(err))
		}
	}
}

// Close closes the connection.
func (s *subscription) Close() error {
	s.cancel()
	if err := s.sub.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("instance: closing a subscription to %s: %w", s.r.name, err)
	}
	return nil
}
