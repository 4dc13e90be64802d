package quorumtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// errSubscriptionClosed is the error of a Subscription that was closed.
var errSubscriptionClosed = errors.New("quorumtest: the subscription is closed")

// maxUnread is how many notifications a Subscription holds until they are read.
const maxUnread = 1024

// NotifyingServer is a Server that notifies waiting processes: a wire.Notifier. A Server
// alone is none.
type NotifyingServer struct{ *Server }

var _ wire.Notifier = NotifyingServer{}

// Enqueue puts a process into a wait queue, see wire.Notifier.
func (s NotifyingServer) Enqueue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	s.sendWaiter(wire.Enqueue, w, timeout, to)
}

// Dequeue takes a process out of a wait queue, see wire.Notifier.
func (s NotifyingServer) Dequeue(w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	s.sendWaiter(wire.Dequeue, w, timeout, to)
}

func (s *Server) sendWaiter(op wire.Op, w wire.Waiter, timeout time.Duration, to wire.Receiver) {
	do := func(ctx context.Context, req wire.Request) wire.Vote { return s.do(ctx, req, w) }
	wire.SendBlocking(s.clock, do, wire.Request{Op: op, Key: w.Key, Clock: true}, timeout, to)
}

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
	e := &subscription{server: s.Server, address: fmt.Sprintf("%s-%d", s.name, s.subscribed), keys: make(chan string, maxUnread), over: make(chan struct{})}
	s.subscriptions[e.address] = e
	return e, nil
}

// subscription is an open connection for notifications.
type subscription struct {
	server  *Server
	address string
	keys    chan string   // of the notifications that Next has yet to return
	over    chan struct{} // closed at the end
	why     error         // written once, before that
}

func (e *subscription) Address() string { return e.address }

func (e *subscription) Next() (string, error) {
	select {
	case key := <-e.keys:
		return key, nil
	default:
	}
	select {
	case key := <-e.keys:
		return key, nil
	case <-e.over:
		return "", e.why
	}
}

func (e *subscription) Close() error {
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	e.end(errSubscriptionClosed)
	return nil
}

// end ends a subscription. s.mu is held.
func (e *subscription) end(why error) {
	if e.why == nil {
		e.why = why
		close(e.over)
		delete(e.server.subscriptions, e.address)
	}
}

// notify notifies the process with this address, and reports whether it has a subscription.
// s.mu is held.
func (s *Server) notify(address, key string) bool {
	e := s.subscriptions[address]
	if e == nil {
		return false
	}
	if !s.loseNotifications {
		select {
		case e.keys <- key:
		default: // too many are unread, and the last ones are lost
		}
	}
	return true
}

// breakSubscriptions breaks the connections of all Subscriptions. s.mu is held.
func (s *Server) breakSubscriptions() {
	for _, e := range s.subscriptions {
		e.end(ErrConnReset)
	}
}

// BreakSubscriptions breaks the connections of all Subscriptions, and no others.
func (s *Server) BreakSubscriptions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakSubscriptions()
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
