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

// Subscriptions are the open Subscriptions of a server, by their addresses. They are locked by the
// server's lock, which all methods need.
type Subscriptions map[string]*subscription

// Open opens a Subscription. Its Close takes the server's lock.
func (s Subscriptions) Open(lock sync.Locker) wire.Subscription {
	e := &subscription{lock: lock, all: s, address: rand.Text(), keys: make(chan string, maxUnread)}
	s[e.address] = e
	return e
}

// Notify notifies the process with this address, and reports whether it has a Subscription.
func (s Subscriptions) Notify(address, key string) bool {
	e := s[address]
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
func (s Subscriptions) Break(why error) {
	for _, e := range s {
		e.end(why)
	}
}

// subscription is an open connection for notifications.
type subscription struct {
	lock    sync.Locker
	all     Subscriptions
	address string
	keys    chan string // of the notifications that Next has yet to return, closed at the end
	why     error       // written once, before that
}

func (e *subscription) Address() string { return e.address }

func (e *subscription) Next() (string, error) {
	if key, open := <-e.keys; open {
		return key, nil
	}
	return "", e.why
}

func (e *subscription) Close() error {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.end(errSubscriptionClosed)
	return nil
}

// end ends a subscription. It is locked.
func (e *subscription) end(why error) {
	if e.why == nil {
		e.why = why
		close(e.keys)
		delete(e.all, e.address)
	}
}
