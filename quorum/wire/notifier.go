package wire

import (
	"context"
	"time"
)

// Notifier is an Instance whose server also keeps a queue of the processes that wait for a
// lock, and notifies the first of them when the lock is released (Request.Notify). It is
// optional: where an instance is no Notifier, waiting processes poll.
//
// A notification ends a pause early and does nothing else: the notified process asks for
// the lock like any other. A notification that is lost, late, repeated or forged cannot
// make two holders. A lost one costs no more than the pause until the next poll. So the
// queue is no part of the lock, and losing it does no harm.
type Notifier interface {
	Instance

	// Subscribe opens a connection for notifications from the server. It returns when the
	// server knows the subscription, or soon after ctx has ended. The end of ctx has no
	// effect on a Subscription that was returned.
	Subscribe(ctx context.Context) (Subscription, error)

	// Enqueue puts a waiting process at the end of a key's queue, or at the front. A
	// process that is in the queue already keeps its position. The vote, which carries the
	// server's clock, the timeout and the receiver are as for Send.
	//
	// Granted: in the queue. Refused: the key is free, so no release will come, and the
	// process is not in the queue; never if Waiter.Yield is set.
	Enqueue(w Waiter, timeout time.Duration, to Receiver)

	// Dequeue takes a waiting process out of a key's queue. If it is not there any more,
	// because it was notified, and the key is free, the next process is notified instead.
	// The vote, the timeout and the receiver are as for Send.
	//
	// Granted: it was there. Refused: it was not. Vote.Notified says whether another
	// process was notified.
	Dequeue(w Waiter, timeout time.Duration, to Receiver)
}

// Waiter is a process that waits for a lock.
type Waiter struct {
	// Key is the lock's key.
	Key string
	// Address is the address of the process's Subscription on the same server.
	Address string
	// TTL is how long the queue is kept from now on (Enqueue): whole milliseconds.
	TTL time.Duration
	// Front asks for the first position: the process was notified, and came too late.
	Front bool
	// Yield asks for a position although the key may be free: another process was
	// notified and is to have the lock first.
	Yield bool
}

// Subscription receives the notifications of one server, until it is closed or its
// connection is lost.
type Subscription interface {
	// Address is the address that the server notifies: printable ASCII without spaces, at
	// most 64 bytes. No two Subscriptions share one.
	Address() string

	// Next waits for the next notification and returns the key that was released. Only one
	// goroutine calls it at a time. An error is final: the Subscription was closed, or its
	// connection was lost, and notifications with it.
	Next() (key string, err error)

	// Close ends a call of Next and gives up the connection.
	Close() error
}
