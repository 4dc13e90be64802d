package wire

import "context"

// Listener is what an Instance may be, too: one whose server calls those who wait
// for a lock when it is released. Waiters for locks on other instances poll.
//
// A call ends a sleep sooner, and that is all: whoever is called asks for the lock
// like anybody else. No call that is lost, late, doubled or made up can make two
// holders, and a lost one costs no more than the pause until the next poll.
type Notifier interface {
	Instance

	// Listen opens a way for calls from the server. It returns when calls are
	// heard, or soon after ctx has ended, which has no meaning for the Ear.
	Subscribe(ctx context.Context) (Subscription, error)
}

// Ear hears the calls of one server, until it is closed or loses its connection.
type Subscription interface {
	// Address is what the server calls it by: printable ASCII without spaces, at
	// most 64 bytes, and another one for each Ear.
	Address() string

	// Hear waits for the next call and gives the key that was released. It is
	// called by one goroutine at a time. An error is final: the Ear was closed,
	// or its connection broke, and calls may have been lost.
	Next() (key string, err error)

	// Close ends Hear, also one that is under way, and gives up the connection.
	Close() error
}
