package quorumtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redquorum/redlock/quorum/wire"
)

// ErrEarClosed is what an Ear says after it was closed.
var ErrEarClosed = errors.New("quorumtest: the ear is closed")

// Listening is a Server that calls those who wait for a key when it is released: a
// wire.Notifier. The Server alone is none, and those who wait poll it.
type Listening struct{ *Server }

var _ wire.Notifier = Listening{}

// Listen opens an Ear, see wire.Notifier. It takes no time, fails like a command
// on a server that is down, and waits for ctx on one that hangs.
func (s Listening) Subscribe(ctx context.Context) (wire.Subscription, error) {
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
	case s.unfit != nil:
		return nil, s.unfit
	}
	s.listen++
	e := &subscription{server: s.Server, address: fmt.Sprintf("%s-%d", s.name, s.listen), news: make(chan struct{}, 1), over: make(chan struct{})}
	if s.ears == nil {
		s.ears = make(map[string]*subscription)
	}
	s.ears[e.address] = e
	return e, nil
}

// ear is an open way for calls.
type subscription struct {
	server  *Server
	address string
	news    chan struct{} // told when there are calls
	over    chan struct{} // closed at the end

	mu    sync.Mutex
	calls []string
	why   error // of the end
}

func (e *subscription) Address() string { return e.address }

func (e *subscription) Next() (string, error) {
	for {
		e.mu.Lock()
		if len(e.calls) > 0 {
			key := e.calls[0]
			e.calls = e.calls[1:]
			e.mu.Unlock()
			return key, nil
		}
		why := e.why
		e.mu.Unlock()
		if why != nil {
			return "", why
		}
		select {
		case <-e.news:
		case <-e.over:
		}
	}
}

func (e *subscription) Close() error {
	e.server.mu.Lock()
	delete(e.server.ears, e.address)
	e.server.mu.Unlock()
	e.end(ErrEarClosed)
	return nil
}

func (e *subscription) end(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil {
		e.why = why
		close(e.over)
	}
}

// call is what the data calls waiters by. s.mu is held.
func (s *Server) call(waiter, key string) bool {
	e := s.ears[waiter]
	if e == nil {
		return false
	}
	if s.lose {
		return true
	}
	e.mu.Lock()
	e.calls = append(e.calls, key)
	e.mu.Unlock()
	select {
	case e.news <- struct{}{}:
	default: // it is told already
	}
	return true
}

// deafen breaks the connections of all Ears. s.mu is held.
func (s *Server) deafen() {
	for _, e := range s.ears {
		e.end(ErrConnReset)
	}
	clear(s.ears)
}

// Deafen breaks the connections of all Ears, and leaves that of commands.
func (s *Server) Deafen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deafen()
}

// LoseCalls makes all later calls get lost on their way, or ends that.
func (s *Server) LoseCalls(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = lose
}

// RefuseEars makes Listen fail with err, as a missing right would. Nil ends it.
func (s *Server) RefuseEars(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfit = err
}
