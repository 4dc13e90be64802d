package memory

import (
	"crypto/rand"
	"errors"
	"sync"

	"github.com/redquorum/redlock/quorum/wire"
)

// errSubscriptionClosed is the error of a Subscription that was closed.
var errSubscriptionClosed = errors.New("memory: the subscription is closed")

// maxUnread is how many notifications a Subscription holds until they are read.
const maxUnread = 1024

// Subscriptions are the open Subscriptions of a server. The zero value has none. Its methods may be
// called from many goroutines at once.
type Subscriptions struct {
	mu   sync.Mutex
	open map[string]*subscription // by their addresses
	ever int
}

// Open opens a Subscription.
func (s *Subscriptions) Open() wire.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &subscription{all: s, address: rand.Text(), keys: make(chan string, maxUnread), over: make(chan struct{})}
	if s.open == nil {
		s.open = map[string]*subscription{}
	}
	s.open[e.address] = e
	s.ever++
	return e
}

// Count returns how many are open, and how many were ever opened.
func (s *Subscriptions) Count() (open, ever int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open), s.ever
}

// Has reports whether there is a Subscription with this address.
func (s *Subscriptions) Has(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[address] != nil
}

// Notify notifies the process with this address, and reports whether it has a Subscription.
func (s *Subscriptions) Notify(address, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.open[address]
	if e == nil {
		return false
	}
	select {
	case e.keys <- key:
	default: // too many are unread, and the last ones are lost
	}
	return true
}

// Break ends all Subscriptions with an error.
func (s *Subscriptions) Break(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.open {
		e.end(why)
	}
}

// subscription is an open connection for notifications.
type subscription struct {
	all     *Subscriptions
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
	e.all.mu.Lock()
	defer e.all.mu.Unlock()
	e.end(errSubscriptionClosed)
	return nil
}

// end ends a subscription. all.mu is held.
func (e *subscription) end(why error) {
	if e.why == nil {
		e.why = why
		close(e.over)
		delete(e.all.open, e.address)
	}
}
