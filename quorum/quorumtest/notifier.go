package quorumtest

import (
	"context"

	"github.com/redquorum/redlock/quorum/wire"
)

// NotifyingServer is a Server that notifies waiting processes: a wire.Notifier. A Server
// alone is none.
type NotifyingServer struct{ *Server }

var _ wire.Notifier = NotifyingServer{}

// Subscribe opens a Subscription, see wire.Notifier. It takes no time, fails like a request
// to a server that is down, and waits for ctx's end on a server that hangs.
func (s NotifyingServer) Subscribe(ctx context.Context) (wire.Subscription, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	hung, broken := s.hung, s.broken
	s.mu.Unlock()
	if hung {
		return nil, s.wait(ctx, never, nil, broken)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down:
		return nil, ErrConnRefused
	case s.cannotNotify != nil:
		return nil, s.cannotNotify
	}
	s.subscribed++
	return s.subscriptions.Open(&s.mu), nil
}

// notify notifies the process with this address, and reports whether it has a subscription.
// s.mu is held.
func (s *Server) notify(address, key string) bool {
	if s.loseNotifications {
		return s.subscriptions[address] != nil
	}
	return s.subscriptions.Notify(address, key)
}

// BreakSubscriptions breaks the connections of all Subscriptions, and no others.
func (s *Server) BreakSubscriptions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions.Break(ErrConnReset)
}

// LoseNotifications has all later notifications lost on their way, or ends that.
func (s *Server) LoseNotifications(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseNotifications = lose
}

// RefuseSubscriptions makes Subscribe fail with err, as it does without the right to
// subscribe. Nil ends that.
func (s *Server) RefuseSubscriptions(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cannotNotify = err
}
